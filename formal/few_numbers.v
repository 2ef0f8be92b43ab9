(** What a few numbers decide: a count of contexts, a rank of logarithms, a maximum; and that labels need a second
    dimension. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums rank accuracy divergence theorem_1.
Import ListNotations.
Open Scope R_scope.

(** ** The number of the likeliest contexts *)

(** Probabilities of [T] contexts, the likeliest first; [k] of them carry more than 1 - epsilon, and no fewer do. *)
Definition likeliest_first (T : nat) (prior : nat -> R) : Prop :=
  distribution T prior /\ forall i j, (i <= j)%nat -> (j < T)%nat -> prior j <= prior i.
Definition least_number (T : nat) (prior : nat -> R) (epsilon : R) (k : nat) : Prop :=
  (k <= T)%nat /\ 1 - epsilon < Sum k prior /\ forall l, (l < k)%nat -> Sum l prior <= 1 - epsilon.

(** Dana, Pydi and Chevaleyre (2024), section 4: T_epsilon <= ceil((1 - epsilon) N^S), that is, less than one more. *)
Definition printed_number_of_contexts : Prop :=
  forall N S epsilon prior k, 0 < epsilon < 1 -> likeliest_first (N ^ S) prior ->
    least_number (N ^ S) prior epsilon k -> INR k < (1 - epsilon) * INR (N ^ S) + 1.

(** Four equally likely contexts, epsilon = 1/4: all four are needed, and 3 printed. *)
(* Answers: dana.likeliest-contexts. *)
Theorem four_contexts_are_needed :
  likeliest_first 4 (fun _ => 1 / 4) /\ least_number 4 (fun _ => 1 / 4) (1 / 4) 4.
Proof.
  split; split.
  - split; [intros; lra | simpl; lra].
  - intros; lra.
  - lia.
  - split; [simpl; lra |]. intros l Hl. destruct l as [| [| [| [| l]]]]; [simpl; lra .. | lia].
Qed.

(** So with 'greater than 1 - epsilon' T_epsilon can be above ceil((1 - epsilon) N^S); with 'at least' it cannot. *)
(* Answers: dana.likeliest-contexts. *)
Theorem more_contexts_can_be_needed : ~ printed_number_of_contexts.
Proof.
  intro H. destruct four_contexts_are_needed as [Hp Hk].
  specialize (H 2%nat 2%nat (1 / 4) (fun _ => 1 / 4) 4%nat ltac:(lra) Hp Hk). simpl in H. lra.
Qed.

(** For epsilon = 0 there is no such number at all. *)
(* Answers: dana.likeliest-contexts. *)
Theorem no_number_carries_more_than_all : forall T prior k, distribution T prior -> ~ least_number T prior 0 k.
Proof.
  intros T prior k [Hp Ht] [Hk [Hmore _]]. replace T with (k + (T - k))%nat in Ht by lia. rewrite Sum_split in Ht.
  assert (0 <= Sum (T - k) (fun i => prior (k + i)%nat)) by (apply Sum_nonnegative; intros; apply Hp; lia). lra.
Qed.

(** ** The rank of the logarithms *)

(** With d >= N - 1 the logarithms of any distributions have rank d, or less: a reading of the slides of Dana (2024),
    and not the one that is judged, which is that divergence 0 can be achieved. *)
Definition logarithms_have_rank_d : Prop :=
  forall N d T p, (N - 1 <= d)%nat -> (forall t, (t < T)%nat -> distribution N (p t) /\ forall n, (n < N)%nat -> 0 < p t n) ->
    rank_at_most d T N (fun t n => ln (p t n)).

(** Two tokens, d = 1, the distributions (1/4, 3/4) and (3/4, 1/4). That divergence 0 needs no more than d = N - 1 is
    true: [encoder_of_all_distributions] of theorem_1.v. *)
(* Answers: what slides.zero-divergence does not say. *)
Theorem logarithms_can_have_full_rank : ~ logarithms_have_rank_d.
Proof.
  intro H. specialize (H 2%nat 1%nat 2%nat (fun t n => if Nat.eq_dec t n then 1 / 4 else 3 / 4) ltac:(lia)).
  destruct H as [B [C HBC]].
  { intros t Ht. split; [split |].
    - intros n _. destruct (Nat.eq_dec t n); lra.
    - destruct t as [| [| t]]; [simpl; lra | simpl; lra | lia].
    - intros n _. destruct (Nat.eq_dec t n); lra. }
  pose proof (HBC 0%nat 0%nat ltac:(lia) ltac:(lia)) as E00. pose proof (HBC 0%nat 1%nat ltac:(lia) ltac:(lia)) as E01.
  pose proof (HBC 1%nat 0%nat ltac:(lia) ltac:(lia)) as E10. pose proof (HBC 1%nat 1%nat ltac:(lia) ltac:(lia)) as E11.
  simpl in *.
  assert (ln (1 / 4) < ln (3 / 4)) by (apply ln_increasing; lra).
  assert (ln (3 / 4) < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (E : ln (1 / 4) * ln (1 / 4) = ln (3 / 4) * ln (3 / 4)).
  { rewrite E00 at 1. rewrite E11. rewrite E01 at 1. rewrite E10. ring. }
  nra.
Qed.

(** ** The maximum of (19) *)

(** The largest difference of two logits is at most [r]. *)
Definition range_at_most (N : nat) (z : nat -> R) (r : R) : Prop :=
  forall i j, (i < N)%nat -> (j < N)%nat -> z i - z j <= r.

(** Dana, Pydi and Chevaleyre (2024), (19) in the proof of Theorem 3: a bound for the ranges of all [f t] is one for
    those of sum_t x_t f_t, |x_t| <= 1. *)
Definition printed_step_of_theorem_3 : Prop :=
  forall N T f x r, (forall t, (t < T)%nat -> range_at_most N (f t) r) -> (forall t, (t < T)%nat -> Rabs (x t) <= 1) ->
    range_at_most N (fun n => Sum T (fun t => x t * f t n)) r.

(** Twice the logits (1, 0), x = (1, 1): the range is 2, and 1 printed. *)
(* Answers: a step in the proof of dana.theorem-3. *)
Theorem step_of_theorem_3_is_false : ~ printed_step_of_theorem_3.
Proof.
  intro H.
  specialize (H 2%nat 2%nat (fun _ n => match n with 0%nat => 1 | _ => 0 end) (fun _ => 1) 1).
  assert (L : Sum 2 (fun _ => 1 * 1) - Sum 2 (fun _ => 1 * 0) <= 1).
  { apply (fun a b => H a b 0%nat 1%nat ltac:(lia) ltac:(lia)).
    - intros _ _ [| i] [| j] _ _; lra.
    - intros _ _. rewrite Rabs_R1. lra. }
  simpl in L. lra.
Qed.

(** ** The bottleneck of labels *)

(** Labels have no bottleneck in any dimension d. (Dana, Pydi and Chevaleyre, 2024, section 3, say so, and then, in
    Proposition 3, for d >= 2 alone.) *)
Definition labels_need_no_second_dimension : Prop :=
  forall N d T prior labels gamma, (1 <= d)%nat -> distribution T prior -> labels_of N T labels -> 0 < gamma ->
    exists E W, encoder_divergence N d T prior (fun t => delta (labels t)) E W <= gamma.

Lemma label_distribution : forall N g, (g < N)%nat -> distribution N (delta g).
Proof.
  intros N g Hg. split.
  - intros n _. unfold delta. destruct (Nat.eq_dec g n); lra.
  - rewrite (Sum_ext N (delta g) (fun n => delta g n * 1)) by (intros; ring). apply (Sum_delta N g (fun _ => 1)), Hg.
Qed.

(** A label whose logit another token reaches costs log 2 or more. *)
Lemma reached_label_costs : forall N z g h, (g < N)%nat -> (h < N)%nat -> g <> h -> z g <= z h ->
  ln 2 <= divergence N (delta g) (softmax N z).
Proof.
  intros N z g h Hg Hh Hgh Hz. rewrite divergence_of_softmax by (apply label_distribution, Hg).
  unfold entropy. rewrite (Sum_delta N g (fun n => ln (delta g n))), (Sum_delta N g z), delta_same, ln_1 by assumption.
  assert (L : 2 * exp (z g) <= Sum N (fun i => exp (z i))).
  { apply Rle_trans with (exp (z g) + exp (z h)).
    - destruct Hz as [Hz | ->]; [apply exp_increasing in Hz |]; lra.
    - apply (Sum_two_terms_le N (fun i => exp (z i))); [assumption .. |]. intros; left; apply exp_pos. }
  pose proof (exp_pos (z g)).
  assert (ln 2 + z g <= ln (Sum N (fun i => exp (z i)))); [| lra].
  rewrite <- (ln_exp (z g)) at 1. rewrite <- ln_mult by lra.
  destruct L as [L | <-]; [left; apply ln_increasing |]; lra.
Qed.

(** Three tokens, each the label of one of three equally likely contexts, d = 1: the token in the middle of the line
    is never alone in front, so every encoder pays log 2 / 3. *)
(* Answers: dana.association-bottleneck: d = 1, which Proposition 3 excludes;
   docs/claims/lookup_in_two_dimensions.md. *)
Theorem three_labels_on_a_line_cost : forall E W,
  ln 2 / 3 <= encoder_divergence 3 1 3 (fun _ => 1 / 3) delta E W.
Proof.
  intros E W.
  assert (M : exists a b c, (a < 3)%nat /\ (b < 3)%nat /\ (c < 3)%nat /\ b <> a /\ b <> c /\
                            W 0%nat a <= W 0%nat b <= W 0%nat c).
  { destruct (Rle_dec (W 0%nat 0%nat) (W 0%nat 1%nat)), (Rle_dec (W 0%nat 1%nat) (W 0%nat 2%nat)),
      (Rle_dec (W 0%nat 0%nat) (W 0%nat 2%nat));
      [ exists 0%nat, 1%nat, 2%nat | exists 0%nat, 1%nat, 2%nat | exists 0%nat, 2%nat, 1%nat
      | exists 2%nat, 0%nat, 1%nat | exists 1%nat, 0%nat, 2%nat | exists 1%nat, 2%nat, 0%nat
      | exists 0%nat, 2%nat, 1%nat | exists 2%nat, 1%nat, 0%nat ]; repeat split; try lia; lra. }
  destruct M as [a [b [c [Ha [Hb [Hc [Hba [Hbc [Hab Hbc']]]]]]]]].
  set (z := fun t n => Sum 1 (fun i => E t i * W i n)).
  assert (Hmiddle : ln 2 <= divergence 3 (delta b) (softmax 3 (z b))).
  { destruct (Rle_dec 0 (E b 0%nat)).
    - apply (reached_label_costs 3 (z b) b c); try assumption. unfold z. simpl.
      assert (E b 0%nat * W 0%nat b <= E b 0%nat * W 0%nat c) by (apply Rmult_le_compat_l; assumption). lra.
    - apply (reached_label_costs 3 (z b) b a); try assumption. unfold z. simpl.
      assert (- E b 0%nat * W 0%nat a <= - E b 0%nat * W 0%nat b) by (apply Rmult_le_compat_l; lra). lra. }
  apply Rle_trans with (1 / 3 * divergence 3 (delta b) (softmax 3 (z b))); [lra |].
  apply (Sum_term_le 3 (fun t => 1 / 3 * divergence 3 (delta t) (softmax 3 (z t)))); [assumption |].
  intros t Ht. apply Rmult_le_pos; [lra |].
  destruct (softmax_distribution 3 (z t) ltac:(lia)) as [_ Hone].
  apply divergence_nonnegative; [apply label_distribution, Ht | | exact Hone].
  intros; apply softmax_positive; lia.
Qed.

(** So labels have a bottleneck in one dimension, which Proposition 3 excludes. *)
(* Answers: dana.association-bottleneck: d = 1, which Proposition 3 excludes;
   docs/claims/lookup_in_two_dimensions.md. *)
Theorem labels_need_a_second_dimension : ~ labels_need_no_second_dimension.
Proof.
  intro H. assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  destruct (H 3%nat 1%nat 3%nat (fun _ => 1 / 3) (fun t => t) (ln 2 / 4) ltac:(lia)) as [E [W L]].
  - split; [intros; lra | simpl; lra].
  - intros i Hi. exact Hi.
  - lra.
  - pose proof (three_labels_on_a_line_cost E W) as C. unfold encoder_divergence in *. lra.
Qed.
