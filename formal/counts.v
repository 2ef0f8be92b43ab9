(** What numbers of columns, H d_h + d, do not count: associations of heads wider than the stream, a bound from above,
    and what a language model can hold of contexts of one's choice. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention rank additivity accuracy exclusive_or divergence.
Import ListNotations.
Open Scope R_scope.

(** ** Heads wider than the stream *)

(** The features of all heads and the skip connection: column d + h d_h + j is value [j] of head [h]. *)
Definition all_features (m : network) (ts : nat -> context) (t j : nat) : R :=
  if lt_dec j (d_model m) then skip m (ts t) j
  else feature m ((j - d_model m) / d_head m) (ts t) ((j - d_model m) mod d_head m).

(** However wide they are, H heads in [d] dimensions have features of rank H d + d at most, on any contexts. *)
(* Answers: dana.appendix-b: heads wider than the stream have at most 42 columns, where 102 are counted. *)
Theorem wide_heads_count_as_narrow : forall m T ts,
  rank_at_most (n_heads m * d_model m + d_model m) T (n_heads m * d_head m + d_model m) (all_features m ts).
Proof.
  intros m T ts. set (d := d_model m). set (H := n_heads m).
  exists (fun t k => if lt_dec k d then skip m (ts t) k else mixture m ((k - d) / d) (ts t) ((k - d) mod d)).
  exists (fun k j => if lt_dec k d then (if lt_dec j d then delta k j else 0)
                     else if lt_dec j d then 0
                     else delta ((k - d) / d) ((j - d) / d_head m) *
                          W_V m ((j - d) / d_head m) ((k - d) mod d) ((j - d) mod d_head m)).
  intros t j Ht Hj. replace (H * d + d)%nat with (d + H * d)%nat by lia. rewrite Sum_split. unfold all_features. fold d.
  destruct (lt_dec j d) as [Hjd | Hjd].
  - rewrite (Sum_all_zero (H * d)); [| intros k _; destruct (lt_dec (d + k) d); [lia | ring]].
    rewrite (Sum_ext d _ (fun k => delta j k * skip m (ts t) k)).
    + rewrite (Sum_delta d j (fun k => skip m (ts t) k)) by assumption. ring.
    + intros k Hk. destruct (lt_dec k d); [rewrite delta_sym; ring | lia].
  - rewrite (Sum_all_zero d); [| intros k Hk; destruct (lt_dec k d); [ring | lia]]. rewrite Rplus_0_l.
    assert (Hw : d_head m <> 0%nat) by (intro E; rewrite E in Hj; lia).
    assert (Hh : ((j - d) / d_head m < H)%nat) by (apply Nat.div_lt_upper_bound; lia).
    set (h := ((j - d) / d_head m)%nat) in *. set (c := ((j - d) mod d_head m)%nat).
    (* Of the blocks of d terms, one for each head, that of head h is left. *)
    assert (G : forall n, Sum (n * d) (fun k => mixture m (k / d) (ts t) (k mod d) * (delta (k / d) h * W_V m h (k mod d) c)) =
                          if lt_dec h n then feature m h (ts t) c else 0).
    { induction n as [| n IH]; [destruct (lt_dec h 0); [lia | reflexivity] |].
      replace (S n * d)%nat with (n * d + d)%nat by lia. rewrite Sum_split, IH.
      rewrite (Sum_ext d _ (fun i => mixture m n (ts t) i * (delta n h * W_V m h i c))).
      - destruct (Nat.eq_dec n h) as [-> | Hne].
        + rewrite delta_same. destruct (lt_dec h h); [lia |]. destruct (lt_dec h (S h)); [| lia].
          rewrite Rplus_0_l. unfold feature. apply Sum_ext. intros; ring.
        + rewrite (Sum_all_zero d); [| intros; rewrite delta_different by assumption; ring].
          destruct (lt_dec h n), (lt_dec h (S n)); try lia; ring.
      - intros i Hi. assert (Hd : d <> 0%nat) by lia.
        rewrite <- (Nat.div_unique (n * d + i) d n i), <- (Nat.mod_unique (n * d + i) d n i) by lia. reflexivity. }
    specialize (G H). destruct (lt_dec h H); [| contradiction]. rewrite <- G. apply Sum_ext. intros k Hk.
    destruct (lt_dec (d + k) d); [lia |]. replace (d + k - d)%nat with k by lia. reflexivity.
Qed.

(** Dana, Pydi and Chevaleyre (2024), appendix B: with d = 2, d_h = 5 and H = 20 the associations are H d_h + d = 102,
    so that the features of the 100 bigrams of ten tokens are independent for some weights. *)
Definition printed_associations_of_appendix_B : Prop :=
  forall ts, contexts_of 10 2 100 ts ->
    exists m, sizes m 10 2 2 5 20 /\ ~ dependent_rows 100 (20 * 5 + 2) (all_features m ts).

Definition bigram (t : nat) : context := [t / 10; t mod 10]%nat.

Lemma bigrams_of_ten : contexts_of 10 2 100 bigram.
Proof.
  split.
  - intros t Ht. split; [reflexivity |]. unfold token, bigram. intros s Hs.
    assert (t mod 10 < 10)%nat by (apply Nat.mod_upper_bound; lia).
    assert (t / 10 < 10)%nat by (apply Nat.div_lt_upper_bound; lia).
    destruct s as [| [| s]]; cbn [nth]; lia.
  - intros i j _ _ E.
    assert (E1 : (i / 10 = j / 10)%nat) by exact (f_equal (fun t => token t 0) E).
    assert (E2 : (i mod 10 = j mod 10)%nat) by exact (f_equal (fun t => token t 1) E).
    rewrite (Nat.div_mod_eq i 10), (Nat.div_mod_eq j 10), E1, E2. reflexivity.
Qed.

(** They are 42 at most. *)
(* Answers: dana.appendix-b: heads wider than the stream have at most 42 columns, where 102 are counted. *)
Theorem appendix_B_counts_too_many : ~ printed_associations_of_appendix_B.
Proof.
  intro P. destruct (P bigram bigrams_of_ten) as [m [[_ [_ [Hd [Hw Hh]]]] Hindependent]]. apply Hindependent.
  pose proof (wide_heads_count_as_narrow m 100 bigram) as R. rewrite Hd, Hw, Hh in R.
  apply (rank_at_most_dependent (20 * 2 + 2)); [lia | exact R].
Qed.

(** ** A bound from below *)

(** Section 3 calls Corollary 2 an upper bound on the memorization capacity. *)
Definition printed_upper_bound : Prop :=
  forall m N S d d_h H T ts labels, sizes m N S d d_h H -> (1 <= d_h <= d)%nat -> (H * d_h + d <= T)%nat ->
    contexts_of N S T ts -> labels_of N T labels -> accuracy m T ts labels <= printed_accuracy N d d_h H T.

(** The four bigrams of two tokens, whether they are alike: one head of width 1 in two dimensions, which looks at the
    first position more where the tokens are alike. The first coordinate of the stream is 1 or -1 for the token, the
    second is 3 at the first position and 1 at the last. *)
Definition two_tokens (t : nat) : context := match t with 0%nat => [0; 0] | 1%nat => [1; 1] | 2%nat => [0; 1] | _ => [1; 0] end%nat.
Definition alike (t : nat) : nat := match t with 0%nat | 1%nat => 0 | _ => 1 end%nat.
Definition comparing_network : network := {|
  n_ctx := 2; d_model := 2; n_heads := 1; d_qk := 1; d_head := 1; d_vocab_out := 2;
  W_E := fun n i => match i with 0%nat => match n with 0%nat => 1 | _ => -1 end | _ => 0 end;
  W_pos := fun s i => match i with 0%nat => 0 | _ => match s with 0%nat => 3 | _ => 1 end end;
  W_Q := fun _ i _ => delta 0 i; W_K := fun _ i _ => delta 0 i; W_V := fun _ i _ => delta 1 i;
  W_O := fun _ _ i => -5 / 8 * delta 1 i; W_U := fun i n => match n with 0%nat => - delta 1 i | _ => 0 end |}.

Lemma two_tokens_are_contexts : contexts_of 2 2 4 two_tokens.
Proof.
  split.
  - intros i Hi. split; [destruct i as [| [| [| i]]]; reflexivity |]. intros s Hs.
    destruct i as [| [| [| i]]]; destruct s as [| [| s]]; unfold token; simpl; lia.
  - intros i j Hi Hj E. destruct i as [| [| [| [| i]]]]; destruct j as [| [| [| [| j]]]]; simpl in E; try lia; discriminate.
Qed.

(** What the head reads is 2 where the tokens are alike, and less than 8/5 where they are not. *)
Lemma comparing_logits : forall t, (t < 4)%nat ->
  logit comparing_network (two_tokens t) 1 = 0 /\
  match alike t with 0%nat => 0 < logit comparing_network (two_tokens t) 0
                | _ => logit comparing_network (two_tokens t) 0 < 0 end.
Proof.
  intros t Ht. split.
  { unfold logit. simpl. ring. }
  pose proof (exp_ineq1_le 2) as G. pose proof (exp_pos 1) as P1. pose proof (exp_pos (-1)) as P2.
  assert (Q : 3 * exp (-1) <= exp 1).
  { replace (exp 1) with (exp 2 * exp (-1)) by (rewrite <- exp_plus; f_equal; ring). apply Rmult_le_compat_r; lra. }
  assert (L : forall a b, logit comparing_network [a; b] 0 =
    -1 + 5 / 8 * ((3 * exp (W_E comparing_network b 0 * W_E comparing_network a 0) +
                   exp (W_E comparing_network b 0 * W_E comparing_network b 0)) /
                  (exp (W_E comparing_network b 0 * W_E comparing_network a 0) +
                   exp (W_E comparing_network b 0 * W_E comparing_network b 0)))).
  { intros a b. pose proof (exp_pos (W_E comparing_network b 0 * W_E comparing_network a 0)).
    pose proof (exp_pos (W_E comparing_network b 0 * W_E comparing_network b 0)).
    assert (S0 : score comparing_network 0 [a; b] 0 = W_E comparing_network b 0 * W_E comparing_network a 0).
    { unfold score, query, key, input, embedding, last_position, token. simpl. rewrite !delta_same, !delta_different by discriminate. ring. }
    assert (S1 : score comparing_network 0 [a; b] 1 = W_E comparing_network b 0 * W_E comparing_network b 0).
    { unfold score, query, key, input, embedding, last_position, token. simpl. rewrite !delta_same, !delta_different by discriminate. ring. }
    unfold logit, stream, feature, mixture, attention, partition. simpl Sum. rewrite S0, S1.
    unfold skip, input, embedding, last_position, token. simpl in *. rewrite !delta_same, !delta_different by discriminate.
    set (x := exp _) in *. set (y := exp (match b with 0%nat => 1 | _ => -1 end * match b with 0%nat => 1 | _ => -1 end)) in *.
    field. lra. }
  destruct t as [| [| [| [| t]]]]; [| | | | lia]; unfold two_tokens, alike; rewrite L; simpl.
  - replace (1 * 1) with 1 by ring. replace ((3 * exp 1 + exp 1) / (exp 1 + exp 1)) with 2 by (field; lra). lra.
  - replace (-1 * -1) with 1 by ring. replace ((3 * exp 1 + exp 1) / (exp 1 + exp 1)) with 2 by (field; lra). lra.
  - replace (-1 * 1) with (-1) by ring. replace (-1 * -1) with 1 by ring.
    assert ((3 * exp (-1) + exp 1) / (exp (-1) + exp 1) < 8 / 5); [| lra].
    apply (Rmult_lt_reg_r (exp (-1) + exp 1)); [lra |]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - replace (1 * -1) with (-1) by ring. replace (1 * 1) with 1 by ring.
    assert ((3 * exp (-1) + exp 1) / (exp (-1) + exp 1) < 8 / 5); [| lra].
    apply (Rmult_lt_reg_r (exp (-1) + exp 1)); [lra |]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** All four are held, where 7/8 is printed. *)
(* Answers: dana.corollary-2-bound: one head holds all four bigrams of two tokens. *)
Theorem corollary_2_is_no_upper_bound : ~ printed_upper_bound.
Proof.
  intro H.
  specialize (H comparing_network 2 2 2 1 1 4 two_tokens alike ltac:(repeat split) ltac:(lia) ltac:(lia)
                two_tokens_are_contexts)%nat.
  assert (A : accuracy comparing_network 4 two_tokens alike = 1).
  { unfold accuracy. rewrite (Sum_ext 4 _ (fun _ => 1)); [simpl; field |]. intros t Ht. apply hit_right.
    destruct (comparing_logits t Ht) as (Z & C). split; [destruct t as [| [| t]]; simpl; lia |]. intros n Hn Hne. simpl in Hn.
    destruct (alike t) as [| l] eqn:E.
    - replace n with 1%nat by lia. lra.
    - assert (l = 0%nat) as -> by (destruct t as [| [| t]]; simpl in E; congruence). replace n with 0%nat by lia. lra. }
  assert (B : printed_accuracy 2 2 1 1 4 = 7 / 8) by (unfold printed_accuracy; simpl; field).
  specialize (H ltac:(intros t _; destruct t as [| [| t]]; simpl; lia)). lra.
Qed.

(** ** Language models *)

(** Section 6: as a capacity of language models H d_h + d is a strict improvement on H (d_h - 1) + 1. If a capacity is a
    number of contexts of one's choice whose labels can be held, neither number is one. *)
Definition held_whatever_they_are (capacity : nat -> nat -> nat -> nat) : Prop :=
  forall N S d d_h H T ts labels, (1 <= d_h <= d)%nat -> (T <= capacity H d_h d)%nat ->
    contexts_of N S T ts -> labels_of N T labels ->
    exists m, sizes m N S d d_h H /\ forall i, (i < T)%nat -> predicts m (ts i) (labels i).

(** Neither number is one: for one head and d = d_h = 4 both are at least 4, and one head does not hold XOR. *)
(* Answers: dana.comparisons, for contexts of one's choice. *)
Theorem neither_number_is_a_capacity :
  ~ held_whatever_they_are (fun H d_h d => H * d_h + d)%nat /\
  ~ held_whatever_they_are (fun H d_h d => H * (d_h - 1) + 1)%nat.
Proof.
  assert (P : forall capacity, (4 <= capacity 1 4 4)%nat -> ~ held_whatever_they_are capacity).
  { intros capacity C H.
    destruct (H 2 3 4 4 1 4 (exclusive_or 3) (exclusive_or_label 0 1) ltac:(lia) C (exclusive_or_contexts 3 ltac:(lia)))%nat
      as [m [[_ [Hctx [_ [_ one]]]] Hall]].
    - intros t _. destruct t as [| [| t]]; simpl; lia.
    - apply (exclusive_or_is_not_predicted_by_one_head m 0 1 (fun _ _ => False)); [lia | assumption | lia | tauto |].
      intros t Ht. rewrite Hctx. apply predicts_strictly_by, Hall. lia. }
  split; apply P; lia.
Qed.
