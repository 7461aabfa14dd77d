(* Attention in pieces: blocks that merge, what moves between two memories, the backward pass. *)
From Coquelicot Require Import Coquelicot.
From Attention Require Import Basics multi_head learning.

(* A piece: largest score m, sum l of exp (s - m), average o of the values in each component. For a
   piece without a finite score l is 0; pieces here have one. *)
Record piece := { top : R; mass : R; mean : vector }.
Definition merge (A B : piece) : piece :=
  let m := Rmax (top A) (top B) in
  let a := exp (top A - m) * mass A in let b := exp (top B - m) * mass B in
  {| top := m; mass := a + b; mean := fun c => (a * mean A c + b * mean B c) / (a + b) |}.
(* What attention to the keys of a list of (score, value) is; a key that is hidden is not in it. *)
Fixpoint largest (s : R) (l : list (R * vector)) : R :=
  match l with [] => s | x :: r => Rmax s (largest (fst x) r) end.
Definition total (l : list (R * vector)) (f : R * vector -> R) : R := fold_right (fun x t => f x + t) 0 l.
Definition attend (x : R * vector) (r : list (R * vector)) : piece :=
  let l := x :: r in let m := largest (fst x) r in
  {| top := m; mass := total l (fun y => exp (fst y - m));
     mean := fun c => total l (fun y => exp (fst y) * snd y c) / total l (fun y => exp (fst y)) |}.

Lemma largest_app s l x r : largest s (l ++ x :: r) = Rmax (largest s l) (largest (fst x) r).
Proof. revert s. induction l as [|y l IH]; intro s; simpl; [reflexivity|].
  rewrite IH, Rmax_assoc. reflexivity. Qed.
Lemma total_app l r f : total (l ++ r) f = total l f + total r f.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma total_scal l f c : total l (fun y => f y * c) = total l f * c.
Proof. induction l; simpl; [ring|]. rewrite IHl. ring. Qed.
Lemma total_shift l m : total l (fun y => exp (fst y - m)) = total l (fun y => exp (fst y)) * exp (- m).
Proof. rewrite <- total_scal. f_equal. apply functional_extensionality. intro y. unfold Rminus. apply exp_plus. Qed.
Lemma total_pos x r : 0 < total (x :: r) (fun y => exp (fst y)).
Proof. simpl. assert (0 <= total r (fun y => exp (fst y))).
  { induction r; simpl; [lra|]. pose proof (exp_pos (fst a)). lra. }
  pose proof (exp_pos (fst x)). lra. Qed.

Lemma piece_eq A B : top A = top B -> mass A = mass B -> (forall c, mean A c = mean B c) -> A = B.
Proof. destruct A, B. simpl. intros -> -> H. f_equal. apply functional_extensionality, H. Qed.

Theorem merge_pieces : forall (x y : R * vector) (l r : list (R * vector)) (A B C : piece),
  0 < mass A -> 0 < mass B -> 0 < mass C ->
  merge (attend x l) (attend y r) = attend x (l ++ y :: r)
  /\ merge A B = merge B A
  /\ merge (merge A B) C = merge A (merge B C).
Proof. intros x y l r A B C PA PB PC. repeat split.
  - assert (M : top (attend x (l ++ y :: r)) = Rmax (top (attend x l)) (top (attend y r))) by apply largest_app.
    assert (E1 : forall t m a, exp (a - m) * (t * exp (- a)) = t * exp (- m)).
    { intros. replace (- m) with ((a - m) + - a) by ring. rewrite exp_plus. ring. }
    pose proof (total_pos x l) as P1. pose proof (total_pos y r) as P2.
    apply piece_eq; [symmetry; exact M| |intro c]; unfold merge, attend in *; cbn [top mass mean] in *.
    + rewrite M. rewrite app_comm_cons, total_app, !total_shift, !E1. reflexivity.
    + rewrite app_comm_cons, !total_app, !total_shift, !E1.
      pose proof (exp_pos (- Rmax (largest (fst x) l) (largest (fst y) r))) as Pe.
      pose proof (Rmult_lt_0_compat _ _ P1 Pe). pose proof (Rmult_lt_0_compat _ _ P2 Pe).
      field. repeat split; lra.
  - apply piece_eq; [| |intro c]; unfold merge; cbn [top mass mean]; rewrite (Rmax_comm (top B)).
    + reflexivity.
    + ring.
    + f_equal; ring.
  - assert (E2 : forall a m n t, exp (m - n) * (exp (a - m) * t) = exp (a - n) * t).
    { intros. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. ring. }
    apply piece_eq; [| |intro c]; unfold merge; cbn [top mass mean].
    + symmetry. apply Rmax_assoc.
    + rewrite Rmax_assoc, !Rmult_plus_distr_l, !E2. ring.
    + rewrite Rmax_assoc. set (n := Rmax (Rmax (top A) (top B)) (top C)).
      rewrite !Rmult_plus_distr_l, !E2.
      set (m := Rmax (top A) (top B)). set (k := Rmax (top B) (top C)).
      assert (Q : forall a m, exp (a - m) = exp (a - n) * exp (n - m)).
      { intros. rewrite <- exp_plus. f_equal. ring. }
      rewrite (Q (top A) m), (Q (top B) m), (Q (top B) k), (Q (top C) k).
      pose proof (exp_pos (n - m)). pose proof (exp_pos (n - k)).
      assert (0 < exp (top A - n) * mass A) by (apply Rmult_lt_0_compat; [apply exp_pos|assumption]).
      assert (0 < exp (top B - n) * mass B) by (apply Rmult_lt_0_compat; [apply exp_pos|assumption]).
      assert (0 < exp (top C - n) * mass C) by (apply Rmult_lt_0_compat; [apply exp_pos|assumption]).
      assert (0 < exp (top A - n) * exp (n - m) * mass A + exp (top B - n) * exp (n - m) * mass B).
      { replace (exp (top A - n) * exp (n - m) * mass A + exp (top B - n) * exp (n - m) * mass B)
          with (exp (n - m) * (exp (top A - n) * mass A + exp (top B - n) * mass B)) by ring.
        apply Rmult_lt_0_compat; lra. }
      assert (0 < exp (top B - n) * exp (n - k) * mass B + exp (top C - n) * exp (n - k) * mass C).
      { replace (exp (top B - n) * exp (n - k) * mass B + exp (top C - n) * exp (n - k) * mass C)
          with (exp (n - k) * (exp (top B - n) * mass B + exp (top C - n) * mass C)) by ring.
        apply Rmult_lt_0_compat; lra. }
      field. repeat split; lra. Qed.

(* FlashAttention: what moves between the memories, as blocks of rows by columns. Plain attention reads
   Q and K, writes S, reads and writes it for softmax, reads A and V and writes O. *)
Definition plain_moves (n d : nat) : list (nat * nat) :=
  [(n, d); (n, d); (n, n); (n, n); (n, n); (n, n); (n, d); (n, d)].
(* n rows in pieces of r, the last of which may be shorter: as many pieces as n / r, rounded up *)
Definition pieces (n r : nat) : nat := ((n + r - 1) / r)%nat.
Definition rows_of (n r b : nat) : nat := Nat.min r (n - b * r).
(* For each piece of r queries: it is read, then K and V pass by in tiles of c rows, then O is written. *)
Definition tiled_moves (n d r c : nat) : list (nat * nat) :=
  flat_map (fun b => (rows_of n r b, d)
    :: flat_map (fun a => [(rows_of n c a, d); (rows_of n c a, d)]) (seq 0 (pieces n c))
    ++ [(rows_of n r b, d)]) (seq 0 (pieces n r)).

Lemma parameters_app l m : parameters (l ++ m) = (parameters l + parameters m)%nat.
Proof. unfold parameters. induction l; simpl; lia. Qed.
Lemma rows_in_pieces n r k : (0 < r)%nat -> list_sum (map (rows_of n r) (seq 0 k)) = Nat.min n (k * r).
Proof. intro R0. induction k as [|k IH]; [simpl; lia|]. rewrite seq_S, map_app. unfold list_sum in *. rewrite fold_right_app.
  assert (F : forall l s, fold_right Init.Nat.add s l = (fold_right Init.Nat.add 0 l + s)%nat) by (induction l as [|a l Il]; intro s; simpl; [|rewrite Il]; lia).
  rewrite F, IH. unfold rows_of. cbn [map fold_right]. rewrite Nat.add_0_l. nia. Qed.
Lemma pieces_cover n r : (0 < r)%nat -> (n <= pieces n r * r < n + r)%nat.
Proof. intro R0. unfold pieces. pose proof (Nat.div_mod (n + r - 1) r ltac:(lia)). pose proof (Nat.mod_upper_bound (n + r - 1) r ltac:(lia)). nia. Qed.
Lemma all_rows n r : (0 < r)%nat -> list_sum (map (rows_of n r) (seq 0 (pieces n r))) = n.
Proof. intro R0. rewrite rows_in_pieces by exact R0. pose proof (pieces_cover n r R0). lia. Qed.
Lemma moves_of_tiles n d r c : (0 < r)%nat -> (0 < c)%nat ->
  parameters (tiled_moves n d r c) = (2 * n * d + 2 * n * d * pieces n r)%nat.
Proof. intros R0 C0. unfold tiled_moves.
  set (tiles := flat_map (fun a => [(rows_of n c a, d); (rows_of n c a, d)]) (seq 0 (pieces n c))).
  assert (K : parameters tiles = (2 * n * d)%nat).
  { assert (Q : forall l, parameters (flat_map (fun a => [(rows_of n c a, d); (rows_of n c a, d)]) l) = (2 * list_sum (map (rows_of n c) l) * d)%nat).
    { induction l as [|a l IH]; [reflexivity|]. cbn [flat_map]. rewrite parameters_app, IH. cbn. unfold list_sum. lia. }
    unfold tiles. rewrite Q, all_rows by exact C0. reflexivity. }
  assert (Q : forall l, parameters (flat_map (fun b => (rows_of n r b, d) :: tiles ++ [(rows_of n r b, d)]) l)
    = (2 * list_sum (map (rows_of n r) l) * d + 2 * n * d * length l)%nat).
  { induction l as [|b l IH]; [cbn; lia|]. cbn [flat_map]. rewrite parameters_app, IH.
    change ((rows_of n r b, d) :: tiles ++ [(rows_of n r b, d)]) with ([(rows_of n r b, d)] ++ tiles ++ [(rows_of n r b, d)]).
    rewrite !parameters_app, K. cbn [map length]. unfold parameters, list_sum. cbn [fold_right fst snd]. lia. }
  rewrite Q, all_rows, seq_length by exact R0. reflexivity. Qed.

(* The last part: the quotient goes to d / (2 r). *)
Theorem traffic : forall d r c : nat, (0 < d)%nat -> (0 < r)%nat -> (0 < c)%nat ->
  (forall n, parameters (plain_moves n d) = (4 * n * d + 4 * (n * n))%nat
    /\ parameters (tiled_moves n d r c) = (2 * n * d + 2 * n * d * pieces n r)%nat
    /\ Forall (fun block => (fst block <= n)%nat /\ snd block = d) (tiled_moves n d r c))
  /\ is_lim_seq (fun n => INR (parameters (tiled_moves n d r c)) / INR (parameters (plain_moves n d))) (INR d / (2 * INR r)).
Proof. intros d r c D R0 C0.
  assert (Pl : forall n, parameters (plain_moves n d) = (4 * n * d + 4 * (n * n))%nat) by (intro; unfold parameters, plain_moves; simpl; ring).
  split.
  - intro n. split; [apply Pl|]. split; [apply moves_of_tiles; assumption|]. apply Forall_forall. intros m M. unfold tiled_moves in M.
    assert (B : forall r b, (rows_of n r b <= n)%nat) by (intros; unfold rows_of; lia).
    apply in_flat_map in M. destruct M as (b & _ & [<-|M]); [split; [apply B|reflexivity]|].
    apply in_app_or in M. destruct M as [M|[<-|[]]]; [|split; [apply B|reflexivity]].
    apply in_flat_map in M. destruct M as (a & _ & [<-|[<-|[]]]); (split; [apply B|reflexivity]).
  - apply lt_INR in D. assert (Rr : 0 < INR r) by (apply lt_0_INR; exact R0). simpl in D.
    set (K := INR d + INR d + INR d * INR d / INR r). assert (Kp : 0 < K).
    { unfold K. assert (0 < INR d * INR d / INR r) by (apply Rdiv_lt_0_compat; nra). lra. }
    apply is_lim_seq_spec. intro eps. destruct (nfloor_ex (K / eps)) as [N [_ HN]]; [left; apply Rdiv_lt_0_compat; [exact Kp|apply cond_pos]|].
    exists (S N). intros n Hn. rewrite Pl, moves_of_tiles by assumption.
    assert (Nn : INR N + 1 <= INR n) by (rewrite <- S_INR; apply le_INR; lia). pose proof (pos_INR N).
    destruct (pieces_cover n r R0) as [P1 P2]. apply le_INR in P1. apply lt_INR in P2. rewrite mult_INR in P1, P2. rewrite plus_INR in P2.
    set (p := INR (pieces n r)) in *. replace (INR (2 * n * d + 2 * n * d * pieces n r)) with (2 * INR n * INR d * (1 + p))
      by (rewrite plus_INR, !mult_INR; fold p; simpl; ring).
    replace (INR (4 * n * d + 4 * (n * n))) with (4 * INR n * (INR d + INR n)) by (rewrite plus_INR, !mult_INR; simpl; ring).
    replace (2 * INR n * INR d * (1 + p) / (4 * INR n * (INR d + INR n)) - INR d / (2 * INR r))
      with ((INR d + INR d * (p * INR r - INR n) / INR r - INR d * INR d / INR r) / (2 * (INR d + INR n))) by (field; lra).
    assert (Q : 0 <= (p * INR r - INR n) / INR r <= 1).
    { split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, Rr]|].
      apply (Rmult_le_reg_r (INR r)); [exact Rr|]. replace ((p * INR r - INR n) / INR r * INR r) with (p * INR r - INR n) by (field; lra). lra. }
    replace (INR d * (p * INR r - INR n) / INR r) with (INR d * ((p * INR r - INR n) / INR r)) by (unfold Rdiv; ring).
    set (q := (p * INR r - INR n) / INR r) in *. assert (0 < INR d * INR d / INR r) by (apply Rdiv_lt_0_compat; nra).
    assert (A : Rabs (INR d + INR d * q - INR d * INR d / INR r) <= K) by (apply Rabs_le; unfold K; nra).
    unfold Rdiv at 1. rewrite Rabs_mult, (Rabs_pos_eq (/ _)) by (left; apply Rinv_0_lt_compat; lra).
    destruct eps as [eps Pe]. cbn [pos] in *. apply Rle_lt_trans with (K / INR n).
    + unfold Rdiv. apply Rmult_le_compat; [apply Rabs_pos|left; apply Rinv_0_lt_compat; lra|exact A|]. apply Rinv_le_contravar; lra.
    + apply (Rmult_lt_reg_r (INR n)); [lra|]. replace (K / INR n * INR n) with K by (field; lra).
      apply (Rmult_lt_compat_r eps) in HN; [|exact Pe]. replace (K / eps * eps) with K in HN by (field; lra). nra. Qed.

Lemma sum_pieces n r k (f : nat -> R) : (0 < r)%nat ->
  sum k (fun t => sum (rows_of n r t) (fun b => f (t * r + b)%nat)) = sum (Nat.min n (k * r)) f.
Proof. intro R0. induction k as [|k IH]; [rewrite Nat.min_r by lia; reflexivity|].
  change (sum k (fun t => sum (rows_of n r t) (fun b => f (t * r + b)%nat)) + sum (rows_of n r k) (fun b => f (k * r + b)%nat) = sum (Nat.min n (S k * r)) f).
  rewrite IH. unfold rows_of. destruct (Nat.le_gt_cases n (k * r)) as [L|L].
  - replace (n - k * r)%nat with 0%nat by lia. rewrite Nat.min_0_r. replace (Nat.min n (S k * r)) with n by nia. rewrite Nat.min_l by lia. simpl. ring.
  - rewrite (Nat.min_r n (k * r)) by lia. rewrite <- (sum_app (k * r)). f_equal. nia. Qed.
Lemma sum_tiles n r f : (0 < r)%nat -> sum n f = sum (pieces n r) (fun t => sum (rows_of n r t) (fun b => f (t * r + b)%nat)).
Proof. intro R0. rewrite sum_pieces by exact R0. f_equal. pose proof (pieces_cover n r R0). lia. Qed.

(* The backward pass of a row. m is any number, such as the largest visible score; of the gradient dS
   of the scores, the chapter on learning proves that it is score_gradient. *)
Theorem backward : forall (n dv : nat) (seen : nat -> bool) (s dO : vector) (V : matrix) (m : R),
  (exists j, (j < n)%nat /\ seen j = true) ->
  let lambda := m + ln (sum n (fun j => masked_exp (seen j) (s j - m))) in
  let a := masked_softmax n seen s in
  let dS := score_gradient n a (fun j => dot dv dO (V j)) in
  (forall j, a j = masked_exp (seen j) (s j - lambda))
  /\ (forall j, dS j = masked_exp (seen j) (s j - lambda) * (dot dv dO (V j) - dot dv dO (average n a V)))
  /\ (forall r f, (0 < r)%nat -> sum n f = sum (pieces n r) (fun t => sum (rows_of n r t) (fun b => f (t * r + b)%nat))).
Proof. intros n dv seen s dO V m (i & I & Si) lambda a dS. set (l := sum n (fun j => masked_exp (seen j) (s j - m))).
  assert (P : 0 < l).
  { apply Rlt_le_trans with (masked_exp (seen i) (s i - m)); [rewrite Si; apply exp_pos|].
    apply (sum_term n (fun j => masked_exp (seen j) (s j - m)) i I). intros j _. unfold masked_exp. destruct (seen j); [left; apply exp_pos|lra]. }
  assert (Z : sum n (fun j => masked_exp (seen j) (s j)) = exp m * l).
  { unfold l. rewrite <- sum_scal. apply sum_ext. intros j _. unfold masked_exp. destruct (seen j); [|ring].
    rewrite <- exp_plus. f_equal. ring. }
  assert (W : forall j, a j = masked_exp (seen j) (s j - lambda)).
  { intro j. unfold a, masked_softmax. rewrite Z. unfold masked_exp. destruct (seen j); [|unfold Rdiv; ring].
    unfold lambda. fold l. replace (s j - (m + ln l)) with (s j + - m + - ln l) by ring. rewrite !exp_plus, !exp_Ropp, exp_ln by exact P.
    pose proof (exp_pos m). field. lra. }
  assert (De : sum n (fun j => a j * dot dv dO (V j)) = dot dv dO (average n a V)).
  { unfold dot, average. rewrite (sum_ext dv _ (fun c => sum n (fun j => a j * (dO c * V j c)))).
    - rewrite sum_swap. apply sum_ext. intros j _. rewrite sum_scal. reflexivity.
    - intros c _. rewrite <- sum_scal. apply sum_ext. intros. ring. }
  assert (F : forall j, dS j = masked_exp (seen j) (s j - lambda) * (dot dv dO (V j) - dot dv dO (average n a V))).
  { intro j. unfold dS, score_gradient. rewrite De, W. reflexivity. }
  split; [exact W|]. split; [exact F|]. intros r f R0. apply sum_tiles, R0. Qed.
