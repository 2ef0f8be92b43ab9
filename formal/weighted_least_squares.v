(** The slides' bound for weighted least squares (June 2024), with the singular values of sqrt(prior) L: no encoder of
    dimension 1 satisfies it on seven distributions over eight tokens, in none of the three readings of its norms. (With
    each entry weighted by its own conditional probability, and the singular values of L, the bound is open.) *)

From Coq Require Import Reals Lra Lia Arith.
From Formal Require Import sums rank divergence bounds theorem_1.
Open Scope R_scope.

Definition dot (N : nat) (x y : nat -> R) : R := Sum N (fun n => x n * y n).

(** The singular value number d + 1 of a matrix is at most [s]: some matrix of rank d is within [s] of it, in the
    spectral norm (Eckart and Young: the singular value is the least such [s]). *)
Definition singular_value_at_most (d T N : nat) (M : nat -> nat -> R) (s : R) : Prop :=
  exists B, rank_at_most d T N B /\
    forall x, Sum T (fun t => Rsqr (dot N (fun n => M t n - B t n) x)) <= Rsqr s * dot N x x.

(** The bound of the slides, for the largest and the least value of a norm's reading and a singular value. *)
Definition printed_weighted_bound (greatest least s : R) : R :=
  greatest * s ^ 2 + sqrt (greatest / least) ^ 3 * s ^ 3.

(** The extreme values of a table. *)
Definition extremes (T N : nat) (v : nat -> nat -> R) (greatest least : R) : Prop :=
  (forall t n, (t < T)%nat -> (n < N)%nat -> least <= v t n <= greatest) /\
  (exists t n, (t < T)%nat /\ (n < N)%nat /\ v t n = greatest) /\
  (exists t n, (t < T)%nat /\ (n < N)%nat /\ v t n = least).

(** The rows of the Hadamard matrix of order 8 but the constant one: the parity of the bits that [t + 1] and [n] have
    in common. *)
Definition parity (k : nat) : R :=
  match k with
  | 0%nat => 1 | 1%nat => -1 | 2%nat => -1 | 3%nat => 1
  | 4%nat => -1 | 5%nat => 1 | 6%nat => 1 | _ => -1
  end.
Definition hadamard (t n : nat) : R := parity (Nat.land (S t) n).

(** The distributions (1 + h / 100) / 8, equally likely. *)
Definition hadamard_distribution (t n : nat) : R := (1 + hadamard t n / 100) / 8.
Definition equal_prior (_ : nat) : R := 1 / 7.

(** The matrix whose singular values the slides take: the logarithms of the distributions, rows weighted by the root of
    the prior. *)
Definition weighted_logarithms (t n : nat) : R := sqrt (equal_prior t) * ln (hadamard_distribution t n).

Lemma below_seven : forall (P : nat -> Prop),
  P 0%nat -> P 1%nat -> P 2%nat -> P 3%nat -> P 4%nat -> P 5%nat -> P 6%nat -> forall t, (t < 7)%nat -> P t.
Proof. intros P H0 H1 H2 H3 H4 H5 H6 t Ht. do 7 (destruct t as [| t]; [assumption |]). lia. Qed.

Lemma hadamard_sign : forall t n, hadamard t n = 1 \/ hadamard t n = -1.
Proof.
  intros t n. unfold hadamard. generalize (Nat.land (S t) n). intro k.
  do 7 (destruct k as [| k]; [simpl; auto |]). simpl. auto.
Qed.

Lemma hadamard_total : forall t, (t < 7)%nat -> Sum 8 (hadamard t) = 0.
Proof. apply below_seven; unfold hadamard; simpl; ring. Qed.

(** Parseval: the seven rows, the constant one, and the norm. *)
Lemma parseval : forall x, Sum 7 (fun t => Rsqr (dot 8 (hadamard t) x)) + Rsqr (Sum 8 x) = 8 * dot 8 x x.
Proof. intro x. unfold Rsqr, dot, hadamard. simpl. ring. Qed.

Lemma bessel : forall x, Sum 7 (fun t => Rsqr (dot 8 (hadamard t) x)) <= 8 * dot 8 x x.
Proof. intro x. rewrite <- parseval. pose proof (Rle_0_sqr (Sum 8 x)). lra. Qed.

Lemma hadamard_norm : forall t, dot 8 (hadamard t) (hadamard t) = 8.
Proof.
  intro t. unfold dot. rewrite (Sum_ext 8 _ (fun _ => 1)).
  - rewrite Sum_constant. simpl. ring.
  - intros n _. destruct (hadamard_sign t n) as [-> | ->]; ring.
Qed.

Lemma hadamard_distribution_values : forall t n, 99 / 800 <= hadamard_distribution t n <= 101 / 800.
Proof. intros t n. unfold hadamard_distribution. destruct (hadamard_sign t n) as [-> | ->]; lra. Qed.

Lemma hadamard_distribution_is_distribution : forall t, (t < 7)%nat -> distribution 8 (hadamard_distribution t).
Proof.
  intros t Ht. split.
  - intros n _. pose proof (hadamard_distribution_values t n). lra.
  - unfold hadamard_distribution, Rdiv. rewrite Sum_scale_right.
    rewrite Sum_plus, Sum_scale_right, hadamard_total, Sum_constant by assumption. simpl. field.
Qed.

(** The logarithms are a constant plus a multiple of the signs. *)
Definition log_scale : R := (ln 101 - ln 99) / 2.
Definition log_mean : R := (ln 101 + ln 99) / 2 - ln 800.

Lemma hadamard_logarithms : forall t n, ln (hadamard_distribution t n) = log_mean + log_scale * hadamard t n.
Proof.
  intros t n. unfold hadamard_distribution, log_mean, log_scale. destruct (hadamard_sign t n) as [-> | ->].
  - replace ((1 + 1 / 100) / 8) with (101 / 800) by field. rewrite ln_quotient by lra. field.
  - replace ((1 + -1 / 100) / 8) with (99 / 800) by field. rewrite ln_quotient by lra. field.
Qed.

Lemma log_scale_value : 1 / 101 <= log_scale <= 1 / 99.
Proof.
  unfold log_scale. pose proof (ln_le_minus_one (101 / 99) ltac:(lra)) as U.
  pose proof (ln_ge_one_minus_inverse (101 / 99) ltac:(lra)) as L.
  rewrite ln_quotient in U, L by lra. replace (/ (101 / 99)) with (99 / 101) in L by field. lra.
Qed.

(** A change of mass [v] that the logits do not see bounds the divergence from below. *)
Lemma chi_square_floor : forall N p v z, distribution N p -> (forall n, (n < N)%nat -> 0 < p n) ->
  Sum N v = 0 -> dot N v z = 0 -> (forall n, (n < N)%nat -> 0 <= p n + v n) ->
  - dot N v (fun n => ln (p n)) - Sum N (fun n => v n * v n / p n) <= divergence N p (softmax N z).
Proof.
  intros N p v z Hp Hfull Hv Hz Hq.
  assert (Hlaw : distribution N (fun n => p n + v n)).
  { split; [assumption |]. destruct Hp as [_ Ht]. rewrite Sum_plus, Ht, Hv. ring. }
  eapply Rle_trans; [| apply (divergence_duality N p _ z Hp Hlaw)].
  rewrite (Sum_ext N (fun n => (p n + v n - p n) * z n) (fun n => v n * z n)) by (intros; ring).
  fold (dot N v z). rewrite Hz, Rplus_0_r. unfold entropy, dot.
  replace (- Sum N (fun n => (p n + v n) * ln (p n + v n)) - - Sum N (fun n => p n * ln (p n))) with
    (Sum N (fun n => p n * ln (p n)) - Sum N (fun n => (p n + v n) * ln (p n + v n))) by ring.
  replace (- Sum N (fun n => v n * ln (p n)) - Sum N (fun n => v n * v n / p n)) with
    (Sum N (fun n => - (v n * ln (p n)) - v n - v n * v n / p n)).
  - rewrite <- Sum_minus. apply Sum_le. intros n Hn. specialize (Hfull n Hn). specialize (Hq n Hn).
    destruct (Req_dec (p n + v n) 0) as [E | E].
    + rewrite E. replace (v n) with (- p n) by lra. right. field. lra.
    + pose proof (ln_le_minus_one ((p n + v n) / p n) ltac:(apply Rdiv_lt_0_compat; lra)) as L.
      rewrite ln_quotient in L by lra. apply (Rmult_le_compat_l (p n + v n)) in L; [| lra].
      replace ((p n + v n) * ((p n + v n) / p n - 1)) with (v n + v n * v n / p n) in L by (field; lra). lra.
  - rewrite !Sum_minus, Hv.
    rewrite (Sum_ext N (fun n => - (v n * ln (p n))) (fun n => -1 * (v n * ln (p n)))) by (intros; ring).
    rewrite Sum_scale. ring.
Qed.

(** The part of a row that is orthogonal to the centred unembedding. *)
Section Encoder.

Variables E W : nat -> nat -> R.
Let centred (n : nat) : R := W 0%nat n - Sum 8 (W 0%nat) / 8.
Let share (t : nat) : R := dot 8 (hadamard t) centred / dot 8 centred centred.
Let rest (t n : nat) : R := hadamard t n - share t * centred n.

Lemma centred_total : Sum 8 centred = 0.
Proof. unfold centred. rewrite Sum_minus, Sum_constant. simpl. field. Qed.

Lemma share_norm : forall t, share t * dot 8 centred centred = dot 8 (hadamard t) centred.
Proof.
  intro t. unfold share. destruct (Req_dec (dot 8 centred centred) 0) as [Z | Z]; [| field; assumption].
  assert (A : forall n, (n < 8)%nat -> centred n = 0).
  { intros n Hn. apply Rsqr_0_uniq. apply Rle_antisym; [| apply Rle_0_sqr].
    rewrite <- Z. apply (Sum_term_le 8 (fun n => centred n * centred n)); [assumption | intros; apply Rle_0_sqr]. }
  replace (dot 8 (hadamard t) centred) with 0; [rewrite Z; unfold Rdiv; ring |].
  symmetry. apply Sum_all_zero. intros n Hn. rewrite A by assumption. ring.
Qed.

Lemma rest_total : forall t, (t < 7)%nat -> Sum 8 (rest t) = 0.
Proof. intros t Ht. unfold rest. rewrite Sum_minus, Sum_scale, centred_total, hadamard_total by assumption. ring. Qed.

Lemma rest_orthogonal : forall t, dot 8 (rest t) centred = 0.
Proof.
  intro t. unfold dot, rest.
  rewrite (Sum_ext 8 _ (fun n => hadamard t n * centred n - share t * (centred n * centred n)))
    by (intros; ring).
  rewrite Sum_minus, Sum_scale. fold (dot 8 (hadamard t) centred) (dot 8 centred centred). rewrite share_norm. ring.
Qed.

Lemma rest_along_row : forall t, dot 8 (rest t) (hadamard t) = dot 8 (rest t) (rest t).
Proof.
  intro t. unfold dot.
  rewrite (Sum_ext 8 (fun n => rest t n * rest t n)
    (fun n => rest t n * hadamard t n - share t * (rest t n * centred n)))
    by (intros; unfold rest; ring).
  rewrite Sum_minus, Sum_scale. fold (dot 8 (rest t) centred). rewrite rest_orthogonal. ring.
Qed.

Lemma rest_norm : forall t, dot 8 (rest t) (rest t) = 8 - share t * dot 8 (hadamard t) centred.
Proof.
  intro t. rewrite <- rest_along_row, <- (hadamard_norm t). unfold dot.
  rewrite (Sum_ext 8 (fun n => rest t n * hadamard t n)
    (fun n => hadamard t n * hadamard t n - share t * (hadamard t n * centred n))) by (intros; unfold rest; ring).
  rewrite Sum_minus, Sum_scale. reflexivity.
Qed.

Lemma dot_self_nonnegative : forall N x, 0 <= dot N x x.
Proof. intros N x. apply Sum_nonnegative. intros n _. apply Rle_0_sqr. Qed.

Lemma share_product : forall t, share t * dot 8 (hadamard t) centred * dot 8 centred centred =
  Rsqr (dot 8 (hadamard t) centred).
Proof. intro t. rewrite <- share_norm at 2. rewrite <- (share_norm t). unfold Rsqr. ring. Qed.

Lemma rest_total_norm : 48 <= Sum 7 (fun t => dot 8 (rest t) (rest t)).
Proof.
  rewrite (Sum_ext 7 _ (fun t => 8 - share t * dot 8 (hadamard t) centred)) by (intros; apply rest_norm).
  rewrite Sum_minus, Sum_constant. set (taken := Sum 7 _). replace (INR 7 * 8) with 56 by (simpl; ring).
  enough (taken <= 8) by lra.
  destruct (Req_dec (dot 8 centred centred) 0) as [Z | Z].
  - unfold taken. rewrite Sum_all_zero; [lra |]. intros t _. rewrite <- share_norm, Z. ring.
  - pose proof (dot_self_nonnegative 8 centred). pose proof (bessel centred) as B.
    apply (Rmult_le_reg_r (dot 8 centred centred)); [lra |]. unfold taken. rewrite <- Sum_scale_right.
    rewrite (Sum_ext 7 _ (fun t => Rsqr (dot 8 (hadamard t) centred))) by (intros; apply share_product). lra.
Qed.

Lemma rest_small : forall t n, (n < 8)%nat -> -3 <= rest t n <= 3.
Proof.
  intros t n Hn.
  assert (A : rest t n * rest t n <= dot 8 (rest t) (rest t)).
  { apply (Sum_term_le 8 (fun n => rest t n * rest t n)); [assumption | intros; apply Rle_0_sqr]. }
  assert (B : dot 8 (rest t) (rest t) <= 8).
  { rewrite rest_norm. destruct (Req_dec (dot 8 centred centred) 0) as [Z | Z].
    - rewrite <- share_norm, Z. lra.
    - pose proof (dot_self_nonnegative 8 centred). pose proof (share_product t) as P.
      pose proof (Rle_0_sqr (dot 8 (hadamard t) centred)) as Q. rewrite <- P in Q.
      destruct (Rle_or_lt 0 (share t * dot 8 (hadamard t) centred)) as [L | L]; [lra |].
      assert (0 < - (share t * dot 8 (hadamard t) centred) * dot 8 centred centred)
        by (apply Rmult_lt_0_compat; lra). lra. }
  split; nra.
Qed.

Lemma hadamard_context_floor : forall t, (t < 7)%nat ->
  dot 8 (rest t) (rest t) * (303 / 100000000) <=
  divergence 8 (hadamard_distribution t) (softmax 8 (fun n => Sum 1 (fun i => E t i * W i n))).
Proof.
  intros t Ht.
  assert (H := chi_square_floor 8 (hadamard_distribution t) (fun n => - (1 / 1640) * rest t n)
    (fun n => Sum 1 (fun i => E t i * W i n)) (hadamard_distribution_is_distribution t Ht)).
  assert (P : forall n, 0 < hadamard_distribution t n) by (intro n; pose proof (hadamard_distribution_values t n); lra).
  specialize (H (fun n _ => P n)). rewrite Sum_scale, rest_total in H by assumption.
  specialize (H ltac:(ring)).
  assert (Hz : dot 8 (fun n => - (1 / 1640) * rest t n) (fun n => Sum 1 (fun i => E t i * W i n)) = 0).
  { unfold dot. rewrite (Sum_ext 8 _ (fun n => - (1 / 1640) * E t 0%nat * (rest t n * centred n) +
      - (1 / 1640) * E t 0%nat * (Sum 8 (W 0%nat) / 8) * rest t n)).
    2: { intros n _. unfold centred. simpl Sum at 1. ring. }
    rewrite Sum_plus, !Sum_scale, rest_total by assumption. fold (dot 8 (rest t) centred).
    rewrite rest_orthogonal. ring. }
  specialize (H Hz). eapply Rle_trans; [| apply H].
  - clear H Hz.
    assert (A : dot 8 (fun n => - (1 / 1640) * rest t n) (fun n => ln (hadamard_distribution t n)) =
                - (1 / 1640) * log_scale * dot 8 (rest t) (rest t)).
    { rewrite <- rest_along_row. unfold dot.
      rewrite (Sum_ext 8 _ (fun n => - (1 / 1640) * log_mean * rest t n +
        - (1 / 1640) * log_scale * (rest t n * hadamard t n))).
      2: { intros n _. rewrite hadamard_logarithms. ring. }
      rewrite Sum_plus, !Sum_scale, rest_total by assumption. ring. }
    rewrite A.
    assert (B : Sum 8 (fun n => - (1 / 1640) * rest t n * (- (1 / 1640) * rest t n) / hadamard_distribution t n) <=
                1 / 1640 * (1 / 1640) * (800 / 99) * dot 8 (rest t) (rest t)).
    { unfold dot. rewrite <- Sum_scale. apply Sum_le. intros n _. specialize (P n).
      pose proof (hadamard_distribution_values t n) as V.
      apply (Rmult_le_reg_r (hadamard_distribution t n)); [assumption |].
      replace (- (1 / 1640) * rest t n * (- (1 / 1640) * rest t n) / hadamard_distribution t n * hadamard_distribution t n)
        with (1 / 1640 * (1 / 1640) * (rest t n * rest t n)) by (field; lra).
      pose proof (Rle_0_sqr (rest t n)) as Q. unfold Rsqr in Q.
      assert (rest t n * rest t n * (99 / 800) <= rest t n * rest t n * hadamard_distribution t n)
        by (apply Rmult_le_compat_l; lra). lra. }
    pose proof (dot_self_nonnegative 8 (rest t)) as D. pose proof log_scale_value as [L _].
    apply (Rmult_le_compat_r (dot 8 (rest t) (rest t))) in L; [| assumption]. lra.
  - intros n Hn. pose proof (rest_small t n Hn). pose proof (hadamard_distribution_values t n). lra.
Qed.

End Encoder.

(** Every encoder of dimension 1 loses more than 2.07e-5 nats. *)
(* Answers: a reading of (8) of docs/claims/least_squares.md; in another reading slides.weighted-least-squares is
   open. *)
Theorem hadamard_floor : forall E W, 207 / 10000000 < encoder_divergence 8 1 7 equal_prior hadamard_distribution E W.
Proof.
  intros E W. pose proof (rest_total_norm W) as H.
  apply Rlt_le_trans with (1 / 7 * (48 * (303 / 100000000))); [lra |].
  eapply Rle_trans; [apply Rmult_le_compat_l; [lra |]; apply Rmult_le_compat_r; [lra | exact H] |].
  rewrite <- Sum_scale_right, <- Sum_scale. apply Sum_le. intros t Ht.
  apply Rmult_le_compat_l; [unfold equal_prior; lra |]. apply (hadamard_context_floor E W t Ht).
Qed.

(** The second singular value of the weighted logarithms is at most 0.0108. *)
(* Answers: a reading of (8) of docs/claims/least_squares.md; in another reading slides.weighted-least-squares is
   open. *)
Theorem hadamard_second_singular_value : singular_value_at_most 1 7 8 weighted_logarithms (108 / 10000).
Proof.
  exists (fun _ _ => sqrt (1 / 7) * log_mean). split.
  - exists (fun _ _ => 1), (fun _ _ => sqrt (1 / 7) * log_mean). intros. simpl. ring.
  - intro x.
    rewrite (Sum_ext 7 _ (fun t => log_scale * log_scale / 7 * Rsqr (dot 8 (hadamard t) x))).
    + rewrite Sum_scale. pose proof (bessel x) as B. pose proof log_scale_value as [L U].
      pose proof (dot_self_nonnegative 8 x) as D.
      assert (log_scale * log_scale <= 1 / 99 * (1 / 99)) by (apply Rmult_le_compat; lra).
      apply Rle_trans with (log_scale * log_scale / 7 * (8 * dot 8 x x)).
      * apply Rmult_le_compat_l; [| assumption]. assert (0 <= log_scale * log_scale) by (apply Rle_0_sqr). lra.
      * unfold Rsqr. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra.
    + intros t _.
      replace (dot 8 (fun n => weighted_logarithms t n - sqrt (1 / 7) * log_mean) x)
        with (sqrt (1 / 7) * log_scale * dot 8 (hadamard t) x).
      * unfold Rsqr. replace (log_scale * log_scale / 7) with (sqrt (1 / 7) * sqrt (1 / 7) * (log_scale * log_scale))
          by (rewrite sqrt_sqrt by lra; field). ring.
      * unfold dot. rewrite <- Sum_scale. apply Sum_ext. intros n _.
        unfold weighted_logarithms, equal_prior. rewrite hadamard_logarithms. ring.
Qed.

Lemma printed_bound_is_small : forall greatest least s, 0 < least -> 0 < greatest <= 1 / 7 ->
  greatest / least <= 101 / 99 -> 0 <= s <= 108 / 10000 -> printed_weighted_bound greatest least s <= 181 / 10000000.
Proof.
  intros greatest least s Hl Hg Hratio Hs. unfold printed_weighted_bound.
  assert (R : 0 <= sqrt (greatest / least) <= 102 / 100).
  { split; [apply sqrt_pos |]. replace (102 / 100) with (sqrt (102 / 100 * (102 / 100))) by (apply sqrt_square; lra).
    apply sqrt_le_1_alt. lra. }
  assert (S2 : s ^ 2 <= (108 / 10000) ^ 2) by (apply pow_incr; assumption).
  assert (S3 : s ^ 3 <= (108 / 10000) ^ 3) by (apply pow_incr; assumption).
  assert (R3 : sqrt (greatest / least) ^ 3 <= (102 / 100) ^ 3) by (apply pow_incr; assumption).
  assert (greatest * s ^ 2 <= 1 / 7 * (108 / 10000) ^ 2) by (apply Rmult_le_compat; try lra; apply pow_le; lra).
  assert (sqrt (greatest / least) ^ 3 * s ^ 3 <= (102 / 100) ^ 3 * (108 / 10000) ^ 3)
    by (apply Rmult_le_compat; try assumption; apply pow_le; lra).
  lra.
Qed.

(** With such singular values the bound is false in each reading of its norms, as the extremes of the conditional, the
    joint or the prior probabilities: it promises 1.81e-5 nats at most, whatever number up to 0.0108 the singular value
    is. *)
(* Answers: a reading of (8) of docs/claims/least_squares.md; in another reading slides.weighted-least-squares is
   open. *)
Theorem bound_fails_for_weights_of_the_prior : forall greatest least s E W,
  extremes 7 8 hadamard_distribution greatest least \/
  extremes 7 8 (fun t n => equal_prior t * hadamard_distribution t n) greatest least \/
  extremes 7 8 (fun t _ => equal_prior t) greatest least ->
  0 <= s <= 108 / 10000 ->
  printed_weighted_bound greatest least s < encoder_divergence 8 1 7 equal_prior hadamard_distribution E W.
Proof.
  intros greatest least s E W Hext Hs. pose proof (hadamard_floor E W) as F.
  enough (printed_weighted_bound greatest least s <= 181 / 10000000) by lra.
  unfold equal_prior in Hext.
  assert (B : 0 < least /\ 0 < greatest <= 1 / 7 /\ greatest <= 101 / 99 * least).
  { destruct Hext as [[_ [[t [n [_ [_ G]]]] [t' [n' [_ [_ L]]]]]] |
      [[_ [[t [n [_ [_ G]]]] [t' [n' [_ [_ L]]]]]] | [_ [[t [n [_ [_ G]]]] [t' [n' [_ [_ L]]]]]]]];
      pose proof (hadamard_distribution_values t n); pose proof (hadamard_distribution_values t' n'); lra. }
  destruct B as [B1 [B2 B3]]. apply printed_bound_is_small; try assumption.
  apply (Rmult_le_reg_r least); [assumption |]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** Each reading has extremes, so that the theorem is about something. *)
(* Answers: a reading of (8) of docs/claims/least_squares.md; in another reading slides.weighted-least-squares is
   open. *)
Theorem hadamard_extremes :
  extremes 7 8 hadamard_distribution (101 / 800) (99 / 800) /\
  extremes 7 8 (fun t n => equal_prior t * hadamard_distribution t n) (101 / 5600) (99 / 5600) /\
  extremes 7 8 (fun t _ => equal_prior t) (1 / 7) (1 / 7).
Proof.
  assert (V0 : hadamard_distribution 0 0 = 101 / 800) by (unfold hadamard_distribution, hadamard; simpl; field).
  assert (V1 : hadamard_distribution 0 1 = 99 / 800) by (unfold hadamard_distribution, hadamard; simpl; field).
  unfold equal_prior. repeat split.
  1, 2: apply hadamard_distribution_values.
  - exists 0%nat, 0%nat. repeat split; [lia | lia | assumption].
  - exists 0%nat, 1%nat. repeat split; [lia | lia | assumption].
  - pose proof (hadamard_distribution_values t n). lra.
  - pose proof (hadamard_distribution_values t n). lra.
  - exists 0%nat, 0%nat. repeat split; [lia | lia | rewrite V0; field].
  - exists 0%nat, 1%nat. repeat split; [lia | lia | rewrite V1; field].
  - lra.
  - lra.
  - exists 0%nat, 0%nat. repeat split; lia.
  - exists 0%nat, 0%nat. repeat split; lia.
Qed.
