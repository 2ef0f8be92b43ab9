(** Exclusive or: the contexts 000, 110 with one label and 010, 100 with another, padded with the token 0 to any
    length from 3 on. One head, whatever its widths and weights, has dependent features on them and does not predict
    all four. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention rank additivity accuracy.
Import ListNotations.
Open Scope R_scope.

(** The tokens [a] and [b], then zeros up to the length [S]. *)
Definition padded (S a b : nat) : context := a :: b :: repeat O (S - 2).

Definition exclusive_or (S i : nat) : context :=
  match i with
  | 0%nat => padded S 0 0
  | 1%nat => padded S 1 1
  | 2%nat => padded S 0 1
  | _ => padded S 1 0
  end.

Definition exclusive_or_sign (i : nat) : R := match i with 0%nat | 1%nat => 1 | _ => -1 end.

(** The two labels: [i] for 000 and 110, [j] for 010 and 100. *)
Definition exclusive_or_label (i j t : nat) : nat := match t with 0%nat | 1%nat => i | _ => j end.

Example exclusive_or_of_three :
  map (exclusive_or 3) [0; 1; 2; 3]%nat = [[0; 0; 0]; [1; 1; 0]; [0; 1; 0]; [1; 0; 0]]%nat.
Proof. reflexivity. Qed.

Lemma token_padded : forall S a b s, (2 <= s)%nat -> token (padded S a b) s = O.
Proof.
  intros S a b s H. unfold token, padded. destruct s as [| [| s]]; [lia | lia |]. simpl.
  apply nth_repeat.
Qed.

Lemma exclusive_or_relation : forall S, indicator_relation S 4 exclusive_or_sign (exclusive_or S).
Proof.
  intros S s n Hs. unfold exclusive_or_sign. simpl Sum. simpl.
  destruct s as [| [| s]].
  - unfold token. simpl. ring.
  - unfold token. simpl. ring.
  - rewrite !token_padded by lia. ring.
Qed.

Lemma exclusive_or_last : forall m, (3 <= n_ctx m)%nat -> one_last_token m 4 (exclusive_or (n_ctx m)) 0.
Proof.
  intros m H i _. unfold last_position. destruct i as [| [| [| i]]]; apply token_padded; lia.
Qed.

Lemma exclusive_or_contexts : forall S, (2 <= S)%nat -> contexts_of 2 S 4 (exclusive_or S).
Proof.
  intros S HS. split.
  - intros i Hi. split.
    + destruct i as [| [| [| i]]]; simpl; rewrite repeat_length; lia.
    + intros s Hs. destruct s as [| [| s]].
      * destruct i as [| [| [| i]]]; unfold token; simpl; lia.
      * destruct i as [| [| [| i]]]; unfold token; simpl; lia.
      * destruct i as [| [| [| i]]]; simpl exclusive_or; rewrite token_padded; lia.
  - intros i j Hi Hj. destruct i as [| [| [| [| i]]]]; destruct j as [| [| [| [| j]]]]; simpl;
      try lia; discriminate.
Qed.

(** The features of one head, after the skip connection: d_model + d_head columns. *)
Definition features (m : network) (ts : nat -> context) (t j : nat) : R :=
  if lt_dec j (d_model m) then skip m (ts t) j else feature m 0 (ts t) (j - d_model m).

(** For all weights and widths: the four rows of features, skip connection included, are dependent. *)
(* Answers: dana.theorem-1, its count min(T, H d_h + d). *)
Theorem exclusive_or_features_are_dependent : forall m, (3 <= n_ctx m)%nat ->
  dependent_rows 4 (d_model m + d_head m) (features m (exclusive_or (n_ctx m))).
Proof.
  intros m H.
  exists (fun i => exclusive_or_sign i * partition m 0 (exclusive_or (n_ctx m) i)). split.
  - exists O. split; [lia |].
    assert (0 < partition m 0 (exclusive_or (n_ctx m) 0)) by (apply partition_positive; lia).
    unfold exclusive_or_sign. lra.
  - intros j Hj. unfold features. destruct (lt_dec j (d_model m)).
    + exact (skip_relation m 4 0 _ _ (exclusive_or_last m H) (exclusive_or_relation _) 0%nat j).
    + exact (feature_relation m 4 0 _ _ ltac:(lia) (exclusive_or_last m H) (exclusive_or_relation _) 0%nat _).
Qed.

(** So the rank of the features is at most 3. *)
(* Answers: dana.theorem-1, its count min(T, H d_h + d). *)
Theorem exclusive_or_rank_at_most_three : forall m, (3 <= n_ctx m)%nat ->
  rank_at_most 3 4 (d_model m + d_head m) (features m (exclusive_or (n_ctx m))).
Proof. intros m H. apply dependent_rank, exclusive_or_features_are_dependent, H. Qed.

(** The same for what a head sees, before values: the matrix of Lemma 2 for one head. *)
(* Answers: dana.lemma-2. *)
Theorem exclusive_or_mixture_rank : forall m, (3 <= n_ctx m)%nat ->
  rank_at_most 3 4 (d_model m) (fun t j => mixture m 0 (exclusive_or (n_ctx m) t) j).
Proof.
  intros m H. apply dependent_rank.
  exists (fun i => exclusive_or_sign i * partition m 0 (exclusive_or (n_ctx m) i)). split.
  - exists O. split; [lia |].
    assert (0 < partition m 0 (exclusive_or (n_ctx m) 0)) by (apply partition_positive; lia).
    unfold exclusive_or_sign. lra.
  - intros j _.
    exact (mixture_relation m 4 0 _ _ ltac:(lia) (exclusive_or_last m H) (exclusive_or_relation _) 0%nat j).
Qed.

(** The logits of one head: some positive mean of those of 000 and 110 is one of those of 010 and 100. *)
Lemma exclusive_or_logits : forall m, (3 <= n_ctx m)%nat -> n_heads m = 1%nat ->
  exists D : nat -> R, (forall i, 0 < D i) /\ D 0%nat + D 1%nat = D 2%nat + D 3%nat /\
    forall n, let z t := logit m (exclusive_or (n_ctx m) t) n in
      D 0%nat * z 0%nat + D 1%nat * z 1%nat = D 2%nat * z 2%nat + D 3%nat * z 3%nat.
Proof.
  intros m H one.
  destruct (indicator_relation_holds_for_all_weights m 4 0 exclusive_or_sign (exclusive_or (n_ctx m))
              ltac:(lia) (exclusive_or_last m H) (exclusive_or_relation _) 0%nat)
    as [D [HD [Htotal [_ [_ Hlogit]]]]].
  exists D. split; [assumption |]. unfold exclusive_or_sign in *. simpl Sum in *. simpl in *. split; [lra |].
  intro n. specialize (Hlogit one eq_refl n). lra.
Qed.

(** One head does not predict all four labels, even if equal logits are decided in its favour by an order of the tokens
    that is fixed in advance: any relation that never puts two different tokens before each other. *)
(* Answers: dana.corollary-1. *)
Theorem exclusive_or_is_not_predicted_by_one_head : forall m i j before, (3 <= n_ctx m)%nat -> n_heads m = 1%nat ->
  i <> j -> ~ (before i j /\ before j i) ->
  ~ forall t, (t < 4)%nat -> predicts_by m before (exclusive_or (n_ctx m) t) (exclusive_or_label i j t).
Proof.
  intros m i j before H one Hij Horder Hall.
  destruct (exclusive_or_logits m H one) as [D [HD [_ Hrel]]].
  pose proof (Hrel i) as Hi. pose proof (Hrel j) as Hj. cbv zeta in Hi, Hj.
  destruct (Hall 0%nat ltac:(lia)) as [Hin H0]. destruct (Hall 1%nat ltac:(lia)) as [_ H1].
  destruct (Hall 2%nat ltac:(lia)) as [Hjn H2]. destruct (Hall 3%nat ltac:(lia)) as [_ H3].
  change (exclusive_or_label i j 0) with i in *. change (exclusive_or_label i j 1) with i in *.
  change (exclusive_or_label i j 2) with j in *. change (exclusive_or_label i j 3) with j in *.
  specialize (H0 j Hjn ltac:(congruence)). specialize (H1 j Hjn ltac:(congruence)).
  specialize (H2 i Hin ltac:(congruence)). specialize (H3 i Hin ltac:(congruence)).
  pose proof (HD 0%nat). pose proof (HD 1%nat). pose proof (HD 2%nat). pose proof (HD 3%nat).
  set (x0 := logit m (exclusive_or (n_ctx m) 0) i) in *. set (y0 := logit m (exclusive_or (n_ctx m) 0) j) in *.
  set (x1 := logit m (exclusive_or (n_ctx m) 1) i) in *. set (y1 := logit m (exclusive_or (n_ctx m) 1) j) in *.
  set (x2 := logit m (exclusive_or (n_ctx m) 2) i) in *. set (y2 := logit m (exclusive_or (n_ctx m) 2) j) in *.
  set (x3 := logit m (exclusive_or (n_ctx m) 3) i) in *. set (y3 := logit m (exclusive_or (n_ctx m) 3) j) in *.
  assert (0 <= D 0%nat * (x0 - y0)) by (apply Rmult_le_pos; lra).
  assert (0 <= D 1%nat * (x1 - y1)) by (apply Rmult_le_pos; lra).
  assert (0 <= D 2%nat * (y2 - x2)) by (apply Rmult_le_pos; lra).
  assert (0 <= D 3%nat * (y3 - x3)) by (apply Rmult_le_pos; lra).
  destruct H0 as [H0 | [_ H0]].
  - assert (0 < D 0%nat * (x0 - y0)) by (apply Rmult_lt_0_compat; lra). lra.
  - destruct H2 as [H2 | [_ H2]]; [| tauto].
    assert (0 < D 2%nat * (y2 - x2)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

Lemma predicts_strictly_by : forall m t label, predicts m t label -> predicts_by m (fun _ _ => False) t label.
Proof. intros m t label [Hl H]. split; [assumption |]. intros n Hn Hne. left. apply H; assumption. Qed.

(** So the accuracy is at most 3/4. *)
(* Answers: dana.corollary-2. *)
Theorem exclusive_or_accuracy_at_most_three_quarters : forall m i j, (3 <= n_ctx m)%nat -> n_heads m = 1%nat ->
  i <> j -> accuracy m 4 (exclusive_or (n_ctx m)) (exclusive_or_label i j) <= 3 / 4.
Proof.
  intros m i j H one Hij. unfold accuracy. replace (INR 4) with 4 by (simpl; ring).
  apply Rmult_le_reg_r with 4; [lra |]. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l, !Rmult_1_r by lra.
  set (f := fun t => hit m (exclusive_or (n_ctx m) t) (exclusive_or_label i j t)).
  assert (Hf : forall t, 0 <= f t <= 1) by (intro; apply hit_range).
  assert (Hwrong : exists t, (t < 4)%nat /\ f t = 0).
  { destruct (all_below_dec _ (fun t => predicts_dec m (exclusive_or (n_ctx m) t) (exclusive_or_label i j t)) 4)
      as [A | A].
    - exfalso. apply (exclusive_or_is_not_predicted_by_one_head m i j (fun _ _ => False) H one Hij); [tauto |].
      intros t Ht. apply predicts_strictly_by, A, Ht.
    - destruct (predicts_dec m (exclusive_or (n_ctx m) 0) (exclusive_or_label i j 0)) as [P0 | P0];
        [| exists 0%nat; split; [lia | apply hit_wrong, P0]].
      destruct (predicts_dec m (exclusive_or (n_ctx m) 1) (exclusive_or_label i j 1)) as [P1 | P1];
        [| exists 1%nat; split; [lia | apply hit_wrong, P1]].
      destruct (predicts_dec m (exclusive_or (n_ctx m) 2) (exclusive_or_label i j 2)) as [P2 | P2];
        [| exists 2%nat; split; [lia | apply hit_wrong, P2]].
      destruct (predicts_dec m (exclusive_or (n_ctx m) 3) (exclusive_or_label i j 3)) as [P3 | P3];
        [| exists 3%nat; split; [lia | apply hit_wrong, P3]].
      exfalso. apply A. intros t Ht. destruct t as [| [| [| [| t]]]]; [assumption .. | lia]. }
  pose proof (Hf 0%nat). pose proof (Hf 1%nat). pose proof (Hf 2%nat). pose proof (Hf 3%nat).
  destruct Hwrong as [t [Ht Hzero]]. simpl Sum. fold (f 0%nat) (f 1%nat) (f 2%nat) (f 3%nat).
  destruct t as [| [| [| [| t]]]]; [lra .. | lia].
Qed.

(** Three quarters are reached: uniform attention, and the label 1 wherever the token 1 occurs. *)
Definition best_on_exclusive_or : network := {|
  n_ctx := 3; d_model := 2; n_heads := 1; d_qk := 1; d_head := 1; d_vocab_out := 2;
  W_E := fun n i => if Nat.eq_dec i 0 then INR n else 1;
  W_pos := fun _ _ => 0;
  W_Q := fun _ _ _ => 0;
  W_K := fun _ _ _ => 0;
  W_V := fun _ i _ => if Nat.eq_dec i 0 then 1 else 0;
  W_O := fun _ _ i => if Nat.eq_dec i 0 then 6 else 0;
  W_U := fun i n => if Nat.eq_dec i n then 0 else 1
|}.

Lemma best_logits : forall a b, let t := padded 3 a b in
  logit best_on_exclusive_or t 0 = 1 /\ logit best_on_exclusive_or t 1 = 2 * (INR a + INR b).
Proof.
  intros a b t.
  assert (Hscore : forall s, score best_on_exclusive_or 0 t s = 0).
  { intro s. unfold score, query, key. simpl. ring. }
  assert (Hpart : partition best_on_exclusive_or 0 t = 3).
  { unfold partition. simpl. rewrite !Hscore, exp_0. ring. }
  assert (Hatt : forall s, attention best_on_exclusive_or 0 t s = / 3).
  { intro s. unfold attention. rewrite Hscore, Hpart, exp_0. field. }
  unfold logit, stream, feature, mixture, skip, input, embedding, last_position.
  simpl Sum. rewrite !Hatt. unfold t, padded, token. simpl. split; field.
Qed.

(** Some weights have the accuracy 3/4. *)
(* Answers: dana.corollary-2. *)
Theorem three_quarters_are_reached : accuracy best_on_exclusive_or 4 (exclusive_or 3) (exclusive_or_label 0 1) = 3 / 4.
Proof.
  assert (G : forall a b label, hit best_on_exclusive_or (padded 3 a b) label =
    match label with
    | 0%nat => if Rlt_dec (2 * (INR a + INR b)) 1 then 1 else 0
    | 1%nat => if Rlt_dec 1 (2 * (INR a + INR b)) then 1 else 0
    | _ => 0
    end).
  { intros a b label. destruct (best_logits a b) as [L0 L1]. destruct label as [| [| label]].
    - destruct (Rlt_dec (2 * (INR a + INR b)) 1) as [Hl | Hl].
      + apply hit_right. split; [simpl; lia |]. intros n Hn Hne. simpl in Hn.
        replace n with 1%nat by lia. lra.
      + apply hit_wrong. intros [_ A]. specialize (A 1%nat). simpl in A. specialize (A ltac:(lia) ltac:(lia)). lra.
    - destruct (Rlt_dec 1 (2 * (INR a + INR b))) as [Hl | Hl].
      + apply hit_right. split; [simpl; lia |]. intros n Hn Hne. simpl in Hn.
        replace n with 0%nat by lia. lra.
      + apply hit_wrong. intros [_ A]. specialize (A 0%nat). simpl in A. specialize (A ltac:(lia) ltac:(lia)). lra.
    - apply hit_wrong. intros [A _]. simpl in A. lia. }
  unfold accuracy. simpl Sum. unfold exclusive_or_label. simpl exclusive_or. rewrite !G.
  simpl INR. repeat match goal with |- context [Rlt_dec ?x ?y] => destruct (Rlt_dec x y); try lra end.
Qed.

(** So Corollary 1 and Corollary 2 of Dana, Pydi and Chevaleyre (2024) are false, for given numbers of heads and widths.
    *)
(* Answers: dana.corollary-1. *)
Theorem corollary_1_is_false : ~ printed_corollary_1.
Proof.
  intro H.
  destruct (H 2 3 2 1 (exclusive_or 3) (exclusive_or_label 0 1) ltac:(lia) (exclusive_or_contexts 3 ltac:(lia)))%nat
    as [m [[_ [Hctx [_ [_ one]]]] Hall]].
  - intros t _. destruct t as [| [| t]]; simpl; lia.
  - apply (exclusive_or_is_not_predicted_by_one_head m 0 1 (fun _ _ => False)); [lia | assumption | lia | tauto |].
    intros t Ht. rewrite Hctx. apply predicts_strictly_by, Hall. lia.
Qed.

(** Corollary 2 prints 7/8 for XOR. *)
(* Answers: dana.corollary-2. *)
Theorem corollary_2_is_false : ~ printed_corollary_2.
Proof.
  intro H.
  destruct (H 2 3 2 1 1 4 (exclusive_or 3) (exclusive_or_label 0 1) ltac:(lia) ltac:(lia)
              (exclusive_or_contexts 3 ltac:(lia)))%nat as [m [[_ [Hctx [_ [_ one]]]] Hacc]].
  - intros t _. destruct t as [| [| t]]; simpl; lia.
  - pose proof (exclusive_or_accuracy_at_most_three_quarters m 0 1 ltac:(lia) one ltac:(lia)) as Hmost.
    rewrite Hctx in Hmost.
    assert (E : printed_accuracy 2 2 1 1 4 = 7 / 8) by (unfold printed_accuracy; simpl; field).
    lra.
Qed.
