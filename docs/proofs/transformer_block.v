(* A block: its size, and the function that lies between its maps. *)
From Attention Require Import Basics.

Definition product_operations (a b c : nat) : nat := (2 * a * b * c)%nat.   (* of a by b times b by c *)
(* h heads of dimension d / h; a network of width 4 d; two LayerNorms with factor and shift *)
Theorem cost : forall d h dk n : nat, (h * dk = d)%nat -> (0 < d)%nat ->
  let projections := [(d, (h * dk)%nat); (d, (h * dk)%nat); (d, (h * dk)%nat); ((h * dk)%nat, d)] in
  let their_biases := [(1, (h * dk)); (1, (h * dk)); (1, (h * dk)); (1, d)]%nat in
  let network := [(d, 4 * d); (1, 4 * d); (4 * d, d); (1, d)]%nat in
  let norms := [(1, d); (1, d); (1, d); (1, d)]%nat in
  let products := (4 * product_operations n d d
    + h * (product_operations n dk n + product_operations n n dk)
    + product_operations n d (4 * d) + product_operations n (4 * d) d)%nat in
  parameters (projections ++ their_biases ++ network ++ norms) = (12 * (d * d) + 13 * d)%nat
  /\ products = (24 * n * (d * d) + 4 * (n * n) * d)%nat
  /\ (2 * (4 * (n * n) * d) = products <-> n = 6 * d \/ n = 0)%nat.
Proof. intros d h dk n H D projections biases network norms products.
  assert (Pr : products = (24 * n * (d * d) + 4 * (n * n) * d)%nat).
  { unfold products, product_operations. rewrite <- H. nia. }
  split; [|split; [exact Pr|]].
  - unfold projections, biases, network, norms, parameters. rewrite H. simpl. nia.
  - rewrite Pr. split.
    + intro E. destruct (Nat.eq_dec n 0) as [Z|Z]; [right; exact Z|left]. nia.
    + intros [-> | ->]; nia. Qed.

(* A chain of linear maps with biases is one such map: row times matrix plus bias, of two numbers *)
Inductive affine : (R -> R -> R) -> Prop :=
  | first : affine (fun x _ => x)
  | second : affine (fun _ y => y)
  | combined : forall (a b c : R) (f g : R -> R -> R), affine f -> affine g -> affine (fun x y => a * f x y + b * g x y + c).
Lemma affine_form f : affine f -> exists a b c, forall x y, f x y = a * x + b * y + c.
Proof. induction 1 as [| |a b c f g _ (fa & fb & fc & F) _ (ga & gb & gc & G)].
  - exists 1, 0, 0. intros. ring.
  - exists 0, 1, 0. intros. ring.
  - exists (a * fa + b * ga), (a * fb + b * gb), (a * fc + b * gc + c). intros. rewrite F, G. ring. Qed.
Theorem bend : (forall f, affine f -> ~ (forall x y, f x y = Rabs (x - y)))
  /\ (forall x y, Rabs (x - y) = 1 * Rmax 0 (1 * x + -1 * y) + 1 * Rmax 0 (-1 * x + 1 * y)).
Proof. split.
  - intros f A H. destruct (affine_form f A) as (a & b & c & F).
    pose proof (H 0 0) as H0. pose proof (H 1 0) as H1. pose proof (H 0 1) as H2. pose proof (H 1 1) as H3.
    rewrite F in *. rewrite Rminus_diag_eq, Rabs_R0 in H0, H3 by reflexivity.
    replace (1 - 0) with 1 in H1 by ring. rewrite Rabs_R1 in H1.
    replace (0 - 1) with (- (1)) in H2 by ring. rewrite Rabs_Ropp, Rabs_R1 in H2. lra.
  - intros x y. unfold Rmax. destruct (Rle_dec 0 (1 * x + -1 * y)); destruct (Rle_dec 0 (-1 * x + 1 * y)).
    + assert (x - y = 0) as -> by lra. rewrite Rabs_R0. lra.
    + rewrite Rabs_pos_eq; lra.
    + rewrite Rabs_left1; lra.
    + lra. Qed.
