(* Maps over several layers, and maps that give the same output. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics.

(* A map of n tokens: each of its rows is a distribution *)
Definition is_map (n : nat) (A : matrix) : Prop := forall i, (i < n)%nat ->
  (forall j, (j < n)%nat -> 0 <= A i j) /\ sum n (A i) = 1.
Definition one_if (i j : nat) : R := if Nat.eqb i j then 1 else 0.
Definition with_residual (A : matrix) : matrix := fun i j => (A i j + one_if i j) / 2.
(* The rollout up to layer l; layers are numbered from 0 *)
Fixpoint rollout (n : nat) (A : nat -> matrix) (l : nat) : matrix :=
  match l with O => one_if | S l => product n (with_residual (A l)) (rollout n A l) end.

Lemma one_if_sum n i : (i < n)%nat -> sum n (one_if i) = 1.
Proof. intro H. rewrite <- (sum_one n i (fun _ => 1) H). reflexivity. Qed.
Lemma one_if_nonneg i j : 0 <= one_if i j.
Proof. unfold one_if. destruct (Nat.eqb i j); lra. Qed.

Lemma with_residual_map n A : is_map n A -> is_map n (with_residual A).
Proof. intros H i I. destruct (H i I) as [P S]. unfold with_residual. split.
  - intros j J. pose proof (P j J). pose proof (one_if_nonneg i j). lra.
  - rewrite sum_div, sum_plus, S, one_if_sum by exact I. lra. Qed.

Lemma rollout_bound n L (A : nat -> matrix) eps : 0 <= eps ->
  (forall l, (l < L)%nat -> is_map n (A l) /\ A l O O = 1) ->
  (forall l i, (l < L)%nat -> (i < n)%nat -> eps <= A l i O) ->
  is_map n (rollout n A L) /\ forall i, (i < n)%nat -> 1 - (1 - eps / 2) ^ L <= rollout n A L i O.
Proof. intro E. induction L as [|L IH]; intros M F.
  - split.
    + intros i I. split; [intros; apply one_if_nonneg|apply one_if_sum, I].
    + intros i I. simpl. pose proof (one_if_nonneg i 0). lra.
  - destruct IH as [D B]; [intros; apply M; lia|intros; apply F; lia|].
    destruct (M L ltac:(lia)) as [ML first]. pose proof (with_residual_map n (A L) ML) as W.
    set (R := rollout n A L) in *. set (W' := with_residual (A L)) in *. split.
    + intros i I. destruct (W i I) as [P S]. simpl. fold R W'. unfold product. split.
      * intros j J. apply sum_nonneg. intros k K. apply Rmult_le_pos; [apply P, K|].
        destruct (D k K) as [PD _]. apply PD, J.
      * rewrite sum_swap, <- S. apply sum_ext. intros k K. destruct (D k K) as [_ SD].
        rewrite sum_scal, SD. ring.
    + intros i I. destruct (W i I) as [P S]. simpl rollout. fold R W'. unfold product.
      assert (N : (0 < n)%nat) by lia.
      assert (e1 : eps <= 1).
      { destruct (ML i I) as [Q T]. pose proof (F L i ltac:(lia) I).
        pose proof (sum_term n (A L i) 0%nat N Q). lra. }
      assert (K0 : 0 <= (1 - eps / 2) ^ L) by (apply pow_le; lra).
      assert (R0 : R O O = 1).
      { unfold R. clear - M N. induction L as [|L IH]; [reflexivity|]. simpl. unfold product.
        destruct (M L ltac:(lia)) as [ML first]. destruct (ML O N) as [Q T].
        assert (Z : forall j, (j < n)%nat -> j <> O -> A L O j = 0).
        { intros j J X. pose proof (sum_le n (fun k => if Nat.eqb 0 k then A L O k else if Nat.eqb j k then A L O k else 0) (A L O)) as G.
          assert (G' : sum n (fun k => if Nat.eqb 0 k then A L O k else if Nat.eqb j k then A L O k else 0) <= 1).
          { rewrite <- T. apply G. intros k K. destruct (Nat.eqb 0 k); [lra|]. destruct (Nat.eqb j k); [lra|apply Q, K]. }
          rewrite (sum_ext n _ (fun k => (if Nat.eqb 0 k then A L O k else 0) + (if Nat.eqb j k then A L O k else 0))) in G'.
          - rewrite sum_plus, !sum_one in G' by assumption. pose proof (Q j J). lra.
          - intros k K. destruct (Nat.eqb 0 k) eqn:E0; [|lra]. apply Nat.eqb_eq in E0. subst k.
            destruct (Nat.eqb j 0) eqn:Ej; [apply Nat.eqb_eq in Ej; contradiction|lra]. }
        rewrite (sum_ext n _ (fun k => if Nat.eqb 0 k then rollout n A L k O else 0)).
        - rewrite sum_one by exact N. apply IH. intros l Hl. apply M. lia.
        - intros k K. unfold with_residual, one_if. destruct (Nat.eqb 0 k) eqn:E0.
          + apply Nat.eqb_eq in E0. subst k. rewrite first. lra.
          + apply Nat.eqb_neq in E0. rewrite Z by (auto; lia). lra. }
      assert (H : sum n (fun k => W' i k * (1 - R k O)) <= (1 - eps / 2) ^ L * (1 - W' i O)).
      { replace ((1 - eps / 2) ^ L * (1 - W' i O)) with
          (sum n (fun k => (1 - eps / 2) ^ L * (W' i k - (if Nat.eqb 0 k then W' i k else 0)))).
        - apply sum_le. intros k K. pose proof (P k K). destruct (Nat.eqb 0 k) eqn:E0.
          + apply Nat.eqb_eq in E0. subst k. rewrite R0. lra.
          + pose proof (B k K). rewrite Rminus_0_r, Rmult_comm. apply Rmult_le_compat_r; [assumption|lra].
        - rewrite sum_scal, sum_minus, S, sum_one by exact N. reflexivity. }
      assert (T : sum n (fun k => W' i k * R k O) = 1 - sum n (fun k => W' i k * (1 - R k O))).
      { rewrite <- S at 1. rewrite <- sum_minus. apply sum_ext. intros. ring. }
      rewrite T. simpl pow.
      assert (U : eps / 2 <= W' i O).
      { unfold W', with_residual. pose proof (F L i ltac:(lia) I). pose proof (one_if_nonneg i 0). lra. }
      assert (V : (1 - eps / 2) ^ L * (1 - W' i O) <= (1 - eps / 2) ^ L * (1 - eps / 2)) by (apply Rmult_le_compat_l; lra).
      lra. Qed.

Theorem rollout_first : forall (n L : nat) (A : nat -> matrix) (eps : R), 0 <= eps ->
  (forall l, (l < L)%nat -> is_map n (A l) /\ A l O O = 1) ->
  (forall l i, (l < L)%nat -> (i < n)%nat -> eps <= A l i O) ->
  is_map n (rollout n A L)
  /\ (forall i, (i < n)%nat -> 1 - (1 - eps / 2) ^ L <= rollout n A L i O)
  /\ (0 < eps <= 1 -> is_lim_seq (fun l => 1 - (1 - eps / 2) ^ l) 1).
Proof. intros n L A eps E M F.
  destruct (rollout_bound n L A eps E M F) as [D B]. split; [exact D|split; [exact B|]]. intro e1.
  assert (G : is_lim_seq (fun l => 1 - (1 - eps / 2) ^ l) (1 - 0)).
  { apply is_lim_seq_minus'; [apply is_lim_seq_const|]. apply is_lim_seq_geom. rewrite Rabs_pos_eq; lra. }
  rewrite Rminus_0_r in G. exact G. Qed.

(* Two rows of weights, and values of d components: the difference counts *)
Theorem same_output : forall (n d : nat) (a b : vector) (V : matrix),
  (forall c, (c < d)%nat -> average n a V c = average n b V c)
  <-> (forall c, (c < d)%nat -> average n (fun j => a j - b j) V c = 0).
Proof. intros n d a b V.
  assert (D : forall c, average n (fun j => a j - b j) V c = average n a V c - average n b V c).
  { intro c. unfold average. rewrite <- sum_minus. apply sum_ext. intros. ring. }
  split; intros H c C; specialize (H c C); rewrite D in *; lra. Qed.
