(** Distributions of the next token, entropy and the Kullback-Leibler divergence, in nats. Coq's [ln 0] is 0, so that
    [0 * ln 0 = 0], as it should be. *)

From Coq Require Import Reals Lra Lia Arith.
From Formal Require Import sums.
Open Scope R_scope.

Definition distribution (N : nat) (p : nat -> R) : Prop := (forall n, (n < N)%nat -> 0 <= p n) /\ Sum N p = 1.
Definition softmax (N : nat) (z : nat -> R) (n : nat) : R := exp (z n) / Sum N (fun i => exp (z i)).
Definition entropy (N : nat) (p : nat -> R) : R := - Sum N (fun n => p n * ln (p n)).
Definition divergence (N : nat) (p q : nat -> R) : R := Sum N (fun n => p n * ln (p n / q n)).

Lemma ln_le_minus_one : forall x, 0 < x -> ln x <= x - 1.
Proof. intros x H. pose proof (exp_ineq1_le (ln x)) as E. rewrite exp_ln in E by assumption. lra. Qed.

Lemma ln_ge_one_minus_inverse : forall x, 0 < x -> 1 - / x <= ln x.
Proof.
  intros x H. pose proof (ln_le_minus_one (/ x) (Rinv_0_lt_compat x H)) as E.
  rewrite ln_Rinv in E by assumption. lra.
Qed.

Lemma distribution_dimension : forall N p, distribution N p -> (0 < N)%nat.
Proof. intros [| N] p [_ H]; [simpl in H; lra | lia]. Qed.

Lemma normalizer_positive : forall N z, (0 < N)%nat -> 0 < Sum N (fun i => exp (z i)).
Proof. intros N z H. apply Sum_positive; [assumption | intros; apply exp_pos]. Qed.

Lemma softmax_positive : forall N z n, (0 < N)%nat -> 0 < softmax N z n.
Proof. intros N z n H. apply Rdiv_lt_0_compat; [apply exp_pos | apply normalizer_positive, H]. Qed.

Lemma softmax_distribution : forall N z, (0 < N)%nat -> distribution N (softmax N z).
Proof.
  intros N z H. split.
  - intros n _. left. apply softmax_positive, H.
  - unfold softmax, Rdiv. rewrite Sum_scale_right. apply Rinv_r, Rgt_not_eq, normalizer_positive, H.
Qed.

(** Gibbs: a divergence is not negative. *)
Lemma divergence_nonnegative : forall N p q, distribution N p -> (forall n, (n < N)%nat -> 0 < q n) -> Sum N q = 1 ->
  0 <= divergence N p q.
Proof.
  intros N p q [Hp Htotal] Hq Hone.
  replace 0 with (Sum N (fun n => p n - q n)) by (rewrite Sum_minus, Htotal, Hone; ring).
  apply Sum_le. intros n Hn. specialize (Hp n Hn). specialize (Hq n Hn).
  destruct (Req_dec (p n) 0) as [E | E].
  - rewrite E. lra.
  - assert (0 < p n / q n) by (apply Rdiv_lt_0_compat; lra).
    pose proof (ln_ge_one_minus_inverse (p n / q n) ltac:(assumption)) as L.
    replace (/ (p n / q n)) with (q n / p n) in L by (field; lra).
    apply (Rmult_le_compat_l (p n)) in L; [| lra].
    replace (p n * (1 - q n / p n)) with (p n - q n) in L by (field; lra). exact L.
Qed.

(** The divergence from a softmax: the negative entropy, minus the mean logit, plus the logarithm of the normalizer. *)
Lemma divergence_of_softmax : forall N p z, distribution N p ->
  divergence N p (softmax N z) = - entropy N p - Sum N (fun n => p n * z n) + ln (Sum N (fun i => exp (z i))).
Proof.
  intros N p z H. pose proof (distribution_dimension N p H) as HN. destruct H as [Hp Htotal].
  pose proof (normalizer_positive N z HN) as HZ. set (Z := Sum N (fun i => exp (z i))) in *.
  unfold divergence, entropy. rewrite Ropp_involutive.
  replace (ln Z) with (Sum N (fun n => p n * ln Z)) by (rewrite Sum_scale_right, Htotal; ring).
  rewrite <- Sum_minus, <- Sum_plus. apply Sum_ext. intros n Hn. specialize (Hp n Hn).
  destruct (Req_dec (p n) 0) as [E | E]; [rewrite E; ring |].
  unfold softmax. fold Z.
  replace (p n / (exp (z n) / Z)) with (p n * (/ exp (z n) * Z)).
  2: { field. split; apply Rgt_not_eq; [assumption | apply exp_pos]. }
  assert (0 < / exp (z n)) by apply Rinv_0_lt_compat, exp_pos.
  rewrite ln_mult, ln_mult, ln_Rinv, ln_exp; [ring | apply exp_pos | lra | lra | lra |].
  apply Rmult_lt_0_compat; lra.
Qed.

(** Moving mass from [p] to [q] bounds a divergence from below, whatever the logits [z] are. *)
(* Answers: Lemma O4 for one context, dana.theorem-1. *)
Theorem divergence_duality : forall N p q z, distribution N p -> distribution N q ->
  entropy N q - entropy N p + Sum N (fun n => (q n - p n) * z n) <= divergence N p (softmax N z).
Proof.
  intros N p q z Hp Hq. pose proof (distribution_dimension N p Hp) as HN.
  assert (0 <= divergence N q (softmax N z)) as D.
  { apply divergence_nonnegative; [assumption | intros; apply softmax_positive, HN | apply softmax_distribution, HN]. }
  rewrite divergence_of_softmax in * by assumption.
  rewrite (Sum_ext N (fun n => (q n - p n) * z n) (fun n => q n * z n - p n * z n)) by (intros; ring).
  rewrite Sum_minus. lra.
Qed.
