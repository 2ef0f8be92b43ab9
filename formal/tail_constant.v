(** The last line of the proof of Theorem 1 of Dana, Pydi and Chevaleyre (2024), what the contexts cost that are left
    out: a factor of its equation (14) is lost. *)

From Coq Require Import Reals Lra Lia Arith R_sqrt.
From Formal Require Import sums divergence bounds.
Open Scope R_scope.

(** The norm of the matrix E W of an encoder of one dimension. *)
Definition norm (n : nat) (x : nat -> R) : R := sqrt (Sum n (fun i => x i * x i)).

(** There are as many features as kept contexts, [T], and one context is left out; it may be the least likely one. Its
    features are sum_s z_s times those of the kept contexts, so its logits are the same sum of theirs, which are those
    of an encoder of one dimension: [E t] for t < T, and [E T] for the context that is left out. Then ||V_11^-1||^2 is 1
    + |z|^2, and d_KL of the two is said to differ by at most epsilon C ||E W||, C^2 = 1 + ||V_11^-1||^2, if the
    probability of what is left out is below epsilon. *)
Definition printed_tail : Prop :=
  forall N T (z E W p : nat -> R) (probability epsilon : R), distribution N p ->
    0 <= probability < epsilon -> (INR T + 1) * probability <= 1 ->
    probability * Rabs (divergence N p (softmax N (fun n => Sum T (fun s => z s * (E s * W n)))) -
                        divergence N p (softmax N (fun n => E T * W n))) <=
    epsilon * (sqrt (1 + (1 + Sum T (fun s => z s * z s))) * (norm (S T) E * norm N W)).

(** Two tokens with the logits 1 and -1 times [a]: the distribution, its entropy, and what other logits cost. *)
Definition opposite (n : nat) : R := match n with 0%nat => 1 | _ => -1 end.
Definition sure : nat -> R := softmax 2 (fun n => -1 * opposite n).

Lemma sure_entries : 0 < sure 0%nat <= 1 / 4 /\ sure 1%nat = 1 - sure 0%nat.
Proof.
  unfold sure, softmax. simpl. replace (-1 * 1) with (-1) by ring. replace (-1 * -1) with 1 by ring.
  pose proof (exp_pos 1). pose proof (exp_pos (-1)). pose proof (exp_ineq1_le 2) as G.
  assert (Q : 3 * exp (-1) <= exp 1).
  { replace (exp 1) with (exp 2 * exp (-1)) by (rewrite <- exp_plus; f_equal; ring). apply Rmult_le_compat_r; lra. }
  split; [split |].
  - apply Rdiv_lt_0_compat; lra.
  - apply (Rmult_le_reg_r (0 + exp (-1) + exp 1)); [lra |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - field. lra.
Qed.

(** A distribution against its own logits has the divergence 0; against 400 times the opposite ones at least 599. *)
Lemma opposite_costs : 599 <= divergence 2 sure (softmax 2 (fun n => 400 * opposite n)).
Proof.
  destruct sure_entries as ((S0 & S1) & S2). assert (L : distribution 2 sure) by (apply softmax_distribution; lia).
  rewrite divergence_of_softmax by exact L. simpl. unfold entropy. simpl. rewrite S2.
  set (a := sure 0%nat) in *. rewrite !Rplus_0_l.
  assert (E1 : - 1 <= a * ln a + (1 - a) * ln (1 - a)).
  { pose proof (ln_ge_one_minus_inverse a ltac:(lra)) as A. pose proof (ln_ge_one_minus_inverse (1 - a) ltac:(lra)) as B.
    apply (Rmult_le_compat_l a) in A; [| lra]. apply (Rmult_le_compat_l (1 - a)) in B; [| lra].
    replace (a * (1 - / a)) with (a - 1) in A by (field; lra).
    replace ((1 - a) * (1 - / (1 - a))) with (- a) in B by (field; lra). lra. }
  assert (E2 : 400 <= ln (exp (400 * 1) + exp (400 * -1))).
  { rewrite <- (ln_exp 400) at 1. pose proof (exp_pos 400). pose proof (exp_pos (400 * -1)).
    apply ln_monotone; [assumption |]. rewrite Rmult_1_r. lra. }
  lra.
Qed.

(** Three contexts are kept, z = (0, 0, 20), E = (0, 0, 20, -1), W = (1, -1): the two sides are 599 and 572 times the
    probability, which leaves room for epsilon. (That heads have such features is in docs/claims/theorem_1_tail.md.) *)
Definition last_kept (x y : R) (t : nat) : R := match t with 0%nat | 1%nat => 0 | 2%nat => x | _ => y end.

(** So the last line, with the factor that is printed, is false. *)
(* Answers: dana.theorem-1-tail: the last line of its proof, where a factor is lost, for any features;
   docs/claims/theorem_1_tail.md shows that heads have them. *)
Theorem constant_of_the_tail_is_too_small : ~ printed_tail.
Proof.
  intro H. set (E := last_kept 20 (-1)).
  specialize (H 2%nat 3%nat (last_kept 20 0) E opposite sure (1 / 4) (101 / 400)
                ltac:(apply softmax_distribution; lia) ltac:(lra) ltac:(simpl; lra)).
  assert (A : divergence 2 sure (softmax 2 (fun n => E 3%nat * opposite n)) = 0).
  { change (softmax 2 (fun n => E 3%nat * opposite n)) with sure. unfold divergence.
    destruct sure_entries as ((S0 & S1) & S2). simpl. unfold Rdiv. rewrite !Rinv_r, ln_1 by lra. ring. }
  assert (B : divergence 2 sure (softmax 2 (fun n => Sum 3 (fun s => last_kept 20 0 s * (E s * opposite n)))) =
              divergence 2 sure (softmax 2 (fun n => 400 * opposite n))).
  { unfold divergence, softmax, E. simpl. repeat (f_equal; try ring). }
  rewrite A, B in H. pose proof opposite_costs as C. set (x := divergence _ _ _) in *.
  rewrite Rminus_0_r, Rabs_pos_eq in H by lra.
  assert (D : forall y b, 0 <= b -> y <= b * b -> sqrt y <= b).
  { intros y b Hb Hy. apply Rle_trans with (sqrt (b * b)); [apply sqrt_le_1_alt, Hy | rewrite sqrt_square; lra]. }
  assert (C1 : sqrt (1 + (1 + Sum 3 (fun s => last_kept 20 0 s * last_kept 20 0 s))) <= 201 / 10) by (apply D; simpl; lra).
  assert (C2 : norm 4 E <= 201 / 10) by (apply D; simpl; lra).
  assert (C3 : norm 2 opposite <= 1415 / 1000) by (apply D; simpl; lra).
  assert (P : norm 4 E * norm 2 opposite <= 201 / 10 * (1415 / 1000))
    by (apply Rmult_le_compat; [apply sqrt_pos | apply sqrt_pos | assumption | assumption]).
  assert (sqrt (1 + (1 + Sum 3 (fun s => last_kept 20 0 s * last_kept 20 0 s))) * (norm 4 E * norm 2 opposite) <=
          201 / 10 * (201 / 10 * (1415 / 1000))).
  { apply Rmult_le_compat; [apply sqrt_pos | apply Rmult_le_pos; apply sqrt_pos | assumption | assumption]. }
  lra.
Qed.
