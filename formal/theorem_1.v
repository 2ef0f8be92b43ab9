(** Theorem 1 of Dana, Pydi and Chevaleyre (2024) for epsilon = 0 and a given number of heads, as its Remarks 1 have it
    ("with H d_h + d = T_0 attention heads"), and its refutation: twice. With the number of heads free it is true. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention additivity accuracy exclusive_or divergence divergence_floor collinear_distributions.
Import ListNotations.
Open Scope R_scope.

(** The mean divergence of a sequence encoder f = E W of dimension [d]. *)
Definition encoder_divergence (N d T : nat) (prior : nat -> R) (p E W : nat -> nat -> R) : R :=
  Sum T (fun t => prior t * divergence N (p t) (softmax N (fun n => Sum d (fun i => E t i * W i n)))).

(** Full support; T <= H d_h + d; then some transformer comes within gamma of the infimum over all encoders of dimension
    d, that is: within gamma of each of them, for every gamma > 0. *)
Definition printed_theorem_1 : Prop :=
  forall N S d d_h H T ts prior p, (1 <= d_h <= d)%nat -> contexts_of N S T ts -> (T <= H * d_h + d)%nat ->
    (forall t, (t < T)%nat -> 0 < prior t) -> Sum T prior = 1 ->
    (forall t, (t < T)%nat -> distribution N (p t) /\ forall n, (n < N)%nat -> 0 < p t n) ->
    forall E W gamma, 0 < gamma ->
      exists m, sizes m N S d d_h H /\ mean_divergence m T ts prior p <= encoder_divergence N d T prior p E W + gamma.

(** Logits that are the logarithms of a distribution have the divergence 0. *)
Lemma own_logarithms : forall N p, distribution N p -> (forall n, (n < N)%nat -> 0 < p n) ->
  divergence N p (softmax N (fun n => ln (p n))) = 0.
Proof.
  intros N p Hp Hfull. rewrite divergence_of_softmax by assumption.
  rewrite (Sum_ext N (fun i => exp (ln (p i))) p) by (intros; apply exp_ln, Hfull; assumption).
  destruct Hp as [_ Htotal]. rewrite Htotal, ln_1. unfold entropy. ring.
Qed.

Lemma divergence_ext : forall N p z z', (forall n, (n < N)%nat -> z n = z' n) ->
  divergence N p (softmax N z) = divergence N p (softmax N z').
Proof.
  intros N p z z' H. unfold divergence, softmax.
  rewrite (Sum_ext N (fun i => exp (z i)) (fun i => exp (z' i))) by (intros; rewrite H by assumption; reflexivity).
  apply Sum_ext. intros n Hn. rewrite H by assumption. reflexivity.
Qed.

(** [d >= N - 1] dimensions are enough for every distribution of full support: logits relative to those of the last
    token. *)
Lemma encoder_of_all_distributions : forall N T prior p,
  (forall t, (t < T)%nat -> distribution (S N) (p t) /\ forall n, (n < S N)%nat -> 0 < p t n) ->
  encoder_divergence (S N) N T prior p (fun t i => ln (p t i) - ln (p t N)) delta = 0.
Proof.
  intros N T prior p H. apply Sum_all_zero. intros t Ht. destruct (H t Ht) as [Hlaw Hfull].
  replace (divergence _ _ _) with 0; [ring |]. symmetry.
  rewrite (divergence_ext _ _ _ (fun n => ln (p t n) - ln (p t N))).
  - rewrite <- (own_logarithms (S N) (p t) Hlaw Hfull). rewrite !divergence_of_softmax by assumption.
    rewrite (Sum_ext _ (fun n => p t n * (ln (p t n) - ln (p t N))) (fun n => p t n * ln (p t n) - p t n * ln (p t N)))
      by (intros; ring).
    rewrite Sum_minus, Sum_scale_right. destruct Hlaw as [_ Htotal]. rewrite Htotal.
    rewrite (Sum_ext _ (fun i => exp (ln (p t i) - ln (p t N))) (fun i => / p t N * exp (ln (p t i)))).
    + rewrite Sum_scale, ln_mult, ln_Rinv; [ring | apply Hfull; lia | apply Rinv_0_lt_compat, Hfull; lia |].
      apply normalizer_positive. lia.
    + intros i _. unfold Rminus. rewrite exp_plus, <- ln_Rinv, (exp_ln (/ p t N)); [ring | | apply Hfull; lia].
      apply Rinv_0_lt_compat, Hfull. lia.
  - intros n Hn. destruct (Nat.eq_dec n N) as [-> | Hne].
    + rewrite Sum_all_zero; [ring |]. intros i Hi. rewrite delta_different by lia. ring.
    + rewrite <- (Sum_delta N n (fun i => ln (p t i) - ln (p t N))) by lia.
      apply Sum_ext. intros i Hi. rewrite delta_sym. ring.
Qed.

(** False by exclusive or: N = 2, S = 3, H = 1, for every d and d_h with d + d_h >= 4. *)
(* Answers: dana.theorem-1. *)
Theorem theorem_1_is_false_for_exclusive_or : forall d d_h, (1 <= d_h <= d)%nat -> (4 <= d_h + d)%nat ->
  exists p, (forall t, (t < 4)%nat -> distribution 2 (p t) /\ forall n, (n < 2)%nat -> 0 < p t n) /\
    exists E W, encoder_divergence 2 d 4 (fun _ => 1 / 4) p E W = 0 /\
    forall m, sizes m 2 3 d d_h 1 -> 3185 / 10000 < mean_divergence m 4 (exclusive_or 3) (fun _ => 1 / 4) p.
Proof.
  intros d d_h Hd H4. exists (exclusive_or_distribution (99 / 100)).
  assert (Hlaw : forall t, (t < 4)%nat -> distribution 2 (exclusive_or_distribution (99 / 100) t) /\
                           forall n, (n < 2)%nat -> 0 < exclusive_or_distribution (99 / 100) t n).
  { intros t _. destruct t as [| [| t]]; (split; [apply coin_distribution; lra | intros [| n] _; simpl; lra]). }
  split; [assumption |].
  exists (fun t i => if Nat.eq_dec i 0 then ln (exclusive_or_distribution (99 / 100) t 0) - ln (exclusive_or_distribution (99 / 100) t 1)
                     else 0), delta. split.
  - etransitivity; [| exact (encoder_of_all_distributions 1 4 (fun _ => 1 / 4) _ Hlaw)]. unfold encoder_divergence.
    apply Sum_ext. intros t _. f_equal. apply divergence_ext. intros n _.
    replace d with (1 + (d - 1))%nat by lia. rewrite Sum_split, (Sum_all_zero (d - 1)); [apply Rplus_0_r |].
    intros i _. destruct (Nat.eq_dec (1 + i) 0); [lia | ring].
  - intros m [Hout [Hctx [_ [_ one]]]].
    pose proof (exclusive_or_divergence_at_ninety_nine_percent m ltac:(lia) one Hout) as F. rewrite Hctx in F. exact F.
Qed.

(** False by three bigrams: N = 3, S = 2, H = 1, d_h = 1, for every d >= 2. *)
(* Answers: dana.theorem-1. *)
Theorem theorem_1_is_false_for_collinear_distributions : forall d, (2 <= d)%nat ->
  exists E W, encoder_divergence 3 d 3 (fun _ => 1 / 3) favourite_distribution E W = 0 /\
  forall m, sizes m 3 2 d 1 1 -> 9 / 100 < mean_divergence m 3 bigram_to_zero (fun _ => 1 / 3) favourite_distribution.
Proof.
  intros d Hd.
  assert (Hlaw : forall t, (t < 3)%nat -> distribution 3 (favourite_distribution t) /\ forall n, (n < 3)%nat -> 0 < favourite_distribution t n).
  { intros t _. split; [apply favourite_distribution_is_distribution |]. intros n _.
    destruct t as [| [| t]]; destruct n as [| [| n]]; simpl; lra. }
  exists (fun t i => if lt_dec i 2 then ln (favourite_distribution t i) - ln (favourite_distribution t 2) else 0), delta. split.
  - etransitivity; [| exact (encoder_of_all_distributions 2 3 (fun _ => 1 / 3) _ Hlaw)]. unfold encoder_divergence.
    apply Sum_ext. intros t _. f_equal. apply divergence_ext. intros n _.
    replace d with (2 + (d - 2))%nat by lia. rewrite Sum_split, (Sum_all_zero (d - 2)).
    + rewrite Rplus_0_r. apply Sum_ext. intros i Hi. destruct (lt_dec i 2); [reflexivity | lia].
    + intros i _. destruct (lt_dec (2 + i) 2); [lia | ring].
  - intros m [Hout [Hctx [_ [Hwidth one]]]]. apply collinear_divergence_floor; assumption.
Qed.

(** Theorem 1 is false for epsilon = 0 and a given number of heads. *)
(* Answers: dana.theorem-1. *)
Theorem theorem_1_is_false : ~ printed_theorem_1.
Proof.
  intro H.
  destruct (theorem_1_is_false_for_exclusive_or 2 2 ltac:(lia) ltac:(lia)) as [p [Hp [E [W [Hzero Hfloor]]]]].
  destruct (H 2 3 2 2 1 4 (exclusive_or 3))%nat with (prior := fun _ : nat => 1 / 4) (p := p) (E := E) (W := W)
    (gamma := 1 / 10) as [m [Hm Hle]];
    [lia | apply exclusive_or_contexts; lia | lia | intros; lra | simpl; lra | exact Hp | lra |].
  specialize (Hfloor m Hm). rewrite Hzero in Hle. lra.
Qed.
