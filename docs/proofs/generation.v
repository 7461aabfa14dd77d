(* Generating text: what a cache keeps, shared keys, a dropped key, and drafts that are checked. *)
From Attention Require Import Basics.

(* A rule makes the weights of a row from its visible scores alone: their number and the scores. *)
Definition rule := nat -> vector -> vector.
Definition sees_its_scores (r : rule) : Prop :=
  forall n s t j, (j < n)%nat -> (forall m, (m < n)%nat -> s m = t m) -> r n s j = r n t j.
(* Layers in which tokens meet only in attention under a causal mask: row i sees keys 0 to i. What
   comes between (matrices of the layer, residual connections, networks) acts on each row alone. A
   layer has any number of heads; score and weigh may differ from head to head, and a key or a value
   holds those of all heads, from which a head takes its own. *)
Record layer := { query : vector -> vector; key : vector -> vector; value : vector -> vector;
  score : nat -> vector -> vector -> R; weigh : nat -> rule; after : vector -> (nat -> vector) -> vector }.
Definition row (l : layer) (x : vector) (keys values : matrix) (i : nat) : vector :=
  after l x (fun h => average (S i) (weigh l h (S i) (fun j => score l h (query l x) (keys j))) values).
Definition pass (l : layer) (X : matrix) : matrix :=
  fun i => row l (X i) (fun j => key l (X j)) (fun j => value l (X j)) i.
Definition passes (ls : list layer) (X : matrix) : matrix := fold_left (fun Y l => pass l Y) ls X.

(* One token more, with a cache: the keys and values of each layer, rows 0 to n - 1. *)
Definition extend (cache : matrix) (n : nat) (x : vector) : matrix :=
  fun j => if Nat.ltb j n then cache j else x.
Definition cached_row (l : layer) (n : nat) (keys values : matrix) (x : vector) : vector :=
  row l x (extend keys n (key l x)) (extend values n (value l x)) n.
Fixpoint step (n : nat) (ls : list (layer * (matrix * matrix))) (x : vector) : vector :=
  match ls with
  | [] => x
  | (l, (keys, values)) :: rest => step n rest (cached_row l n keys values x)
  end.
(* The cache after rows 0 to n - 1 of a pass over X: nothing of a later row is in it. *)
Fixpoint caches (n : nat) (ls : list layer) (X : matrix) : list (layer * (matrix * matrix)) :=
  match ls with
  | [] => []
  | l :: rest => let kept f := fun j => if Nat.ltb j n then f (X j) else fun _ => 0 in
      (l, (kept (key l), kept (value l))) :: caches n rest (pass l X)
  end.

Theorem cache : forall (ls : list layer) (X : matrix) (n : nat),
  Forall (fun l => forall h, sees_its_scores (weigh l h)) ls ->
  step n (caches n ls X) (X n) = passes ls X n.
Proof. induction ls as [|l rest IH]; intros X n H; [reflexivity|]. simpl.
  assert (cached_row l n (fun j => if Nat.ltb j n then key l (X j) else fun _ => 0)
            (fun j => if Nat.ltb j n then value l (X j) else fun _ => 0) (X n) = pass l X n) as ->.
  { unfold cached_row, pass, row. f_equal. apply functional_extensionality. intro h.
    apply functional_extensionality. intro c. unfold average.
    assert (X1 : forall (f : vector -> vector) j, (j < S n)%nat ->
      extend (fun j => if Nat.ltb j n then f (X j) else fun _ => 0) n (f (X n)) j = f (X j)).
    { intros f j J. unfold extend. destruct (Nat.ltb j n) eqn:B; [reflexivity|].
      apply Nat.ltb_ge in B. replace j with n by lia. reflexivity. }
    apply sum_ext. intros j J. rewrite (X1 (value l) j J). f_equal.
    apply (Forall_inv H); [exact J|]. intros m M. rewrite (X1 (key l) m M). reflexivity. }
  apply IH. apply (Forall_inv_tail H). Qed.

(* Key 0 is dropped *)
Theorem sink : forall (n : nat) (s : vector) (V : matrix) (c : nat), (1 <= n)%nat -> softmax n s 0%nat < 1 ->
  let a := softmax n s in
  let rest := softmax (n - 1) (fun j => s (S j)) in
  (forall j, (j < n - 1)%nat -> rest j = a (S j) * (1 / (1 - a 0%nat)))
  /\ average (n - 1) rest (fun j => V (S j)) c = (average n a V c - a 0%nat * V 0%nat c) / (1 - a 0%nat).
Proof. intros n s V c N1 L. assert (N : (2 <= n)%nat).
  { destruct n as [|[|n]]; [lia| |lia]. exfalso. unfold softmax in L. simpl in L. pose proof (exp_pos (s 0%nat)).
    rewrite Rplus_0_l in L. unfold Rdiv in L. rewrite Rinv_r in L; lra. }
  clear L N1. destruct n as [|n]; [lia|]. replace (S n - 1)%nat with n by lia.
  intros a rest.
  assert (F : forall f, sum (S n) f = f 0%nat + sum n (fun j => f (S j))).
  { intro f. change (S n) with (1 + n)%nat. rewrite sum_app. simpl. ring. }
  assert (P : 0 < sum n (fun j => exp (s (S j)))) by (apply (exp_sum_pos n (fun j => s (S j))); lia).
  pose proof (exp_pos (s 0%nat)) as P0.
  assert (A0 : 1 - a 0%nat = sum n (fun j => exp (s (S j))) / (exp (s 0%nat) + sum n (fun j => exp (s (S j))))).
  { unfold a, softmax. rewrite F. cbv beta. field. lra. }
  assert (Q : 0 < 1 - a 0%nat) by (rewrite A0; apply Rdiv_lt_0_compat; lra).
  assert (W : forall j, rest j = a (S j) * (1 / (1 - a 0%nat))).
  { intro j. rewrite A0. unfold rest, a, softmax. rewrite F. cbv beta. field. lra. }
  split; [intros; apply W|]. unfold average. rewrite F.
  rewrite (sum_ext n _ (fun j => a (S j) * V (S j) c * (1 / (1 - a 0%nat)))).
  - rewrite sum_scal_r. field. lra.
  - intros j _. rewrite W. ring. Qed.

(* Speculative sampling over a vocabulary of n tokens. Token x is drawn from the draft q, kept with
   probability min(1, p/q), otherwise a token is drawn from r, the positive part of p - q, rescaled. *)
Definition distribution (n : nat) (p : vector) := (forall x, (x < n)%nat -> 0 <= p x) /\ sum n p = 1.
Definition kept (p q : vector) (x : nat) : R := q x * Rmin 1 (p x / q x).
Definition redrawn (n : nat) (p q : vector) (x : nat) : R := Rmax 0 (p x - q x) / sum n (fun y => Rmax 0 (p y - q y)).
Definition outcome (n : nat) (p q : vector) (x : nat) : R :=
  kept p q x + (1 - sum n (kept p q)) * redrawn n p q x.

Lemma kept_min p q x : 0 <= p x -> 0 <= q x -> kept p q x = Rmin (p x) (q x).
Proof. intros P Q. unfold kept. destruct (Req_dec (q x) 0) as [Z|Z].
  - rewrite Z, Rmult_0_l, Rmin_right; lra.
  - assert (D : q x * (p x / q x) = p x) by (field; exact Z). unfold Rmin.
    destruct (Rle_dec 1 (p x / q x)); destruct (Rle_dec (p x) (q x)); nra. Qed.

Theorem speculative : forall (n : nat) (p q : vector), distribution n p -> distribution n q ->
  sum n (kept p q) = sum n (fun x => Rmin (p x) (q x))
  /\ forall x, (x < n)%nat -> outcome n p q x = p x.
Proof. intros n p q [Pp Sp] [Pq Sq].
  assert (K : forall x, (x < n)%nat -> kept p q x = Rmin (p x) (q x)) by (intros; apply kept_min; auto).
  assert (SK : sum n (kept p q) = sum n (fun x => Rmin (p x) (q x))) by (apply sum_ext, K).
  split; [exact SK|]. intros x I. unfold outcome. rewrite K by exact I.
  assert (R1 : 1 - sum n (kept p q) = sum n (fun y => Rmax 0 (p y - q y))).
  { rewrite SK, <- Sp, <- sum_minus. apply sum_ext. intros y _. unfold Rmin, Rmax.
    destruct (Rle_dec (p y) (q y)); destruct (Rle_dec 0 (p y - q y)); lra. }
  unfold redrawn. rewrite R1. set (r := sum n _).
  assert (N : forall y, 0 <= Rmax 0 (p y - q y)) by (intro; apply Rmax_l).
  destruct (Req_dec r 0) as [Z|Z].
  - rewrite Z, Rmult_0_l. assert (Rmax 0 (p x - q x) <= r) by (apply (sum_term n (fun y => Rmax 0 (p y - q y)) x I); intros; apply N).
    assert (L : forall y, (y < n)%nat -> p y - q y <= 0).
    { intros y Y. apply Rle_trans with (Rmax 0 (p y - q y)); [apply Rmax_r|].
      apply Rle_trans with r; [|lra]. apply (sum_term n (fun y => Rmax 0 (p y - q y)) y Y). intros; apply N. }
    (* p is nowhere above q and both sum to 1, so they are equal *)
    assert (q x - p x <= sum n (fun y => q y - p y)).
    { apply (sum_term n (fun y => q y - p y) x I). intros y Y. specialize (L y Y). lra. }
    rewrite sum_minus in H0. specialize (L x I). rewrite Rmin_left; lra.
  - replace (r * (Rmax 0 (p x - q x) / r)) with (Rmax 0 (p x - q x)) by (field; exact Z).
    unfold Rmin, Rmax. destruct (Rle_dec (p x) (q x)); destruct (Rle_dec 0 (p x - q x)); lra. Qed.

(* Multi-head latent attention: keys are rows of latents C times WUK, values C times WUV. *)
Theorem latent : forall (n dc dk : nat) (seen : nat -> bool) (q : vector) (C WUK WUV : matrix) (v : nat),
  let dk' := sqrt (INR dk) in
  let head := average n (masked_softmax n seen (fun j => dot dk q (product dc C WUK j) / dk')) (product dc C WUV) in
  let absorbed := fun c => sum dk (fun b => q b * WUK c b) in
  let over_latents := average n (masked_softmax n seen (fun j => dot dc absorbed (C j) / dk')) C in
  head v = sum dc (fun c => over_latents c * WUV c v).
Proof. intros n dc dk seen q C WUK WUV v dk' head absorbed over. unfold head, over, average.
  assert (S : forall j, dot dk q (product dc C WUK j) = dot dc absorbed (C j)).
  { intro j. unfold dot, absorbed, product. rewrite (sum_ext dk _ (fun b => sum dc (fun c => q b * WUK c b * C j c))).
    - rewrite sum_swap. apply sum_ext. intros c _. rewrite sum_scal_r. reflexivity.
    - intros b _. rewrite <- sum_scal. apply sum_ext. intros. ring. }
  assert ((fun j => dot dk q (product dc C WUK j) / dk') = (fun j => dot dc absorbed (C j) / dk')) as ->.
  { apply functional_extensionality. intro j. rewrite S. reflexivity. }
  unfold product. rewrite (sum_ext n _ (fun j => sum dc (fun c => masked_softmax n seen (fun j => dot dc absorbed (C j) / dk') j * C j c * WUV c v))).
  - rewrite sum_swap. apply sum_ext. intros c _. rewrite sum_scal_r. reflexivity.
  - intros j _. rewrite <- sum_scal. apply sum_ext. intros. ring. Qed.

(* The operations of n tokens that come one by one. A block has matrices of some shapes, and h heads
   whose queries have dk numbers each. A product of a by b and b by c numbers takes 2 a b c operations. *)
Definition product_operations (a b c : nat) : nat := (2 * a * b * c)%nat.
Definition of_rows (rows_ keys : nat) (shapes : list (nat * nat)) (h dk : nat) : nat :=
  (fold_right (fun s t => product_operations rows_ (fst s) (snd s) + t) 0 shapes
   + h * (product_operations rows_ dk keys + product_operations rows_ keys dk))%nat.
Fixpoint over_tokens (n : nat) (f : nat -> nat) : nat := match n with O => O | S m => (over_tokens m f + f (S m))%nat end.
Theorem work : forall (n h dk : nat) (shapes : list (nat * nat)),
  let P := parameters shapes in let d := (h * dk)%nat in
  let cached := over_tokens n (fun t => of_rows 1 t shapes h dk) in
  let again := over_tokens n (fun t => of_rows t t shapes h dk) in
  (cached = 2 * n * P + 2 * n * (n + 1) * d
   /\ (n + 1) * cached <= 2 * again /\ 3 * again <= (2 * n + 1) * cached)%nat.
Proof. intros n h dk shapes P d cached again.
  assert (R : forall a b, of_rows a b shapes h dk = (2 * a * P + 4 * a * b * d)%nat).
  { intros a b. unfold of_rows, P, d, product_operations, parameters.
    assert (fold_right (fun s t => 2 * a * fst s * snd s + t) 0 shapes = 2 * a * fold_right (fun s t => fst s * snd s + t) 0 shapes)%nat as ->.
    { induction shapes as [|s l IH]; cbn [fold_right]; [ring|]. rewrite IH. ring. } ring. }
  assert (C : cached = (2 * n * P + 2 * n * (n + 1) * d)%nat).
  { unfold cached. induction n as [|m IH]; [reflexivity|]. cbn [over_tokens]. rewrite IH, R. ring. }
  assert (A : (3 * again = 3 * n * (n + 1) * P + 2 * n * (n + 1) * (2 * n + 1) * d)%nat).
  { unfold again. clear C. induction n as [|m IH]; [reflexivity|]. cbn [over_tokens]. rewrite Nat.mul_add_distr_l, IH, R. ring. }
  split; [exact C|]. rewrite C. split.
  - apply (Nat.mul_le_mono_pos_l _ _ 3); [lia|]. replace (3 * (2 * again))%nat with (2 * (3 * again))%nat by ring. rewrite A.
    replace (2 * (3 * n * (n + 1) * P + 2 * n * (n + 1) * (2 * n + 1) * d))%nat
      with (3 * ((n + 1) * (2 * n * P + 2 * n * (n + 1) * d)) + 2 * n * (n + 1) * d * (n - 1))%nat; [lia|].
    destruct n as [|m]; [ring|]. replace (S m - 1)%nat with m by lia. ring.
  - rewrite A. replace ((2 * n + 1) * (2 * n * P + 2 * n * (n + 1) * d))%nat
      with (3 * n * (n + 1) * P + 2 * n * (n + 1) * (2 * n + 1) * d + n * (n - 1) * P)%nat; [lia|].
    destruct n as [|m]; [ring|]. replace (S m - 1)%nat with m by lia. ring. Qed.

(* h heads, of which s that follow each other make a group with keys and values of its own: head r
   uses those of group r / s. Number r * d + b of a row is number b of head r. *)
Definition head (d : nat) (W : matrix) (r : nat) : matrix := fun a b => W a (r * d + b)%nat.
Definition side_by_side (d : nat) (O : nat -> matrix) : matrix := fun i a => O (a / d)%nat i (a mod d)%nat.
Definition multi_head (h n dm dk dv : nat) (mask : nat -> nat -> bool) (choose : nat -> nat) (WQ WK WV WO X : matrix) : matrix :=
  product (h * dv) (side_by_side dv (fun r => masked_attention n dk mask (product dm X (head dk WQ r))
    (product dm X (head dk WK (choose r))) (product dm X (head dv WV (choose r))))) WO.
Definition one_group (s r r' : nat) : Prop := (r / s = r' / s)%nat.
Definition shares (s d : nat) (W : matrix) : Prop := forall r r' a b, one_group s r r' -> (b < d)%nat -> head d W r a b = head d W r' a b.
Definition bytes (b L n heads d : nat) : nat := (2 * b * L * n * heads * d)%nat.

Lemma same_heads h n dm dk dv mask f g WQ WK WV WK' WV' WO X i c : (0 < dv)%nat ->
  (forall r a b, (b < dk)%nat -> head dk WK (f r) a b = head dk WK' (g r) a b) ->
  (forall r a b, (b < dv)%nat -> head dv WV (f r) a b = head dv WV' (g r) a b) ->
  multi_head h n dm dk dv mask f WQ WK WV WO X i c = multi_head h n dm dk dv mask g WQ WK' WV' WO X i c.
Proof. intros D HK HV. unfold multi_head. unfold product at 1 5. apply sum_ext. intros a _. f_equal.
  unfold side_by_side, masked_attention, average. set (r := (a / dv)%nat).
  assert (scores dk (product dm X (head dk WQ r)) (product dm X (head dk WK (f r)))
    = scores dk (product dm X (head dk WQ r)) (product dm X (head dk WK' (g r)))) as ->.
  { apply functional_extensionality. intro x. apply functional_extensionality. intro j. unfold scores, dot. f_equal.
    apply sum_ext. intros b B. f_equal. unfold product. apply sum_ext. intros e _. rewrite HK by exact B. reflexivity. }
  apply sum_ext. intros j _. f_equal. unfold product. apply sum_ext. intros e _. rewrite HV; [reflexivity|].
  apply Nat.mod_upper_bound. lia. Qed.
Theorem grouped : forall (g s n dm dk dv : nat) (mask : nat -> nat -> bool) (WQ WO X : matrix), (0 < s)%nat -> (0 < dk)%nat -> (0 < dv)%nat ->
  let h := (g * s)%nat in
  let grouped_query := multi_head h n dm dk dv mask (fun r => (r / s)%nat) WQ in
  let all_heads := multi_head h n dm dk dv mask (fun r => r) WQ in
  (forall WK WV, exists WK' WV', shares s dk WK' /\ shares s dv WV'
     /\ forall i c, grouped_query WK WV WO X i c = all_heads WK' WV' WO X i c)
  /\ (forall WK' WV', shares s dk WK' -> shares s dv WV' ->
      exists WK WV, forall i c, all_heads WK' WV' WO X i c = grouped_query WK WV WO X i c)
  /\ (forall b L d, h * bytes b L n g d = g * bytes b L n h d)%nat.
Proof. intros g s n dm dk dv mask WQ WO X S0 K0 V0 h gq all.
  assert (Co : forall d r b, (b < d)%nat -> ((r * d + b) / d = r /\ (r * d + b) mod d = b)%nat).
  { intros d r b B. rewrite (Nat.add_comm (r * d)), Nat.div_add, Nat.mod_add, Nat.div_small, Nat.mod_small by lia. lia. }
  split; [|split].
  - intros WK WV. set (repeated := fun d (W : matrix) a c => W a ((c / d / s) * d + c mod d)%nat).
    assert (Hr : forall d W r a b, (b < d)%nat -> head d (repeated d W) r a b = head d W (r / s) a b).
    { intros d W r a b B. unfold head, repeated. destruct (Co d r b B) as [-> ->]. reflexivity. }
    exists (repeated dk WK), (repeated dv WV). repeat split.
    + intros r r' a b G B. rewrite !Hr by exact B. unfold one_group in G. rewrite G. reflexivity.
    + intros r r' a b G B. rewrite !Hr by exact B. unfold one_group in G. rewrite G. reflexivity.
    + intros i c. apply same_heads; [exact V0| |]; intros; symmetry; apply Hr; assumption.
  - intros WK WV SK SV. set (first := fun d (W : matrix) a c => W a ((c / d * s) * d + c mod d)%nat).
    assert (Hf : forall d W r a b, (0 < d)%nat -> shares s d W -> (b < d)%nat -> head d W r a b = head d (first d W) (r / s) a b).
    { intros d W r a b D Sh B. transitivity (head d W (r / s * s)%nat a b).
      - apply Sh; [|exact B]. unfold one_group. rewrite Nat.div_mul by lia. reflexivity.
      - unfold head, first. destruct (Co d (r / s)%nat b B) as [-> ->]. reflexivity. }
    exists (first dk WK), (first dv WV). intros i c. apply same_heads; [exact V0| |]; intros; apply Hf; assumption.
  - intros b L d. unfold bytes. ring. Qed.
