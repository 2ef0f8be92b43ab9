(** Three steps of the proofs of Theorem 1 and Lemma 2 of Dana, Pydi and Chevaleyre (2024): the skip connection as one
    more head, the rank behind the value maps, the determinant of counted sequences. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention rank additivity accuracy.
Import ListNotations.
Open Scope R_scope.

(** ** The skip connection as one more head *)

(** What a head with the scores lambda <x_S, x_s> reads of the vectors x_1, ..., x_S, numbered from 0. *)
Definition sharp_score (d : nat) (x : nat -> nat -> R) (lambda : R) (last s : nat) : R :=
  lambda * Sum d (fun i => x last i * x s i).
Definition sharp_output (d S : nat) (x : nat -> nat -> R) (lambda : R) (i : nat) : R :=
  Sum S (fun s => exp (sharp_score d x lambda (pred S) s) * x s i) /
  Sum S (fun s => exp (sharp_score d x lambda (pred S) s)).

(** Dana, Pydi and Chevaleyre (2024), section 4.1 and appendix A.2: for every invertible matrix [M], of the inverse
    [M'], the head reads x' = M' x, and M of what it reads is x_S up to o(exp(-lambda alpha)): so it tends to x_S. *)
Definition printed_skip_head : Prop :=
  forall d S (x M M' : nat -> nat -> R), (1 <= S)%nat ->
    (forall i j, (i < d)%nat -> (j < d)%nat -> Sum d (fun k => M i k * M' k j) = delta i j) ->
    forall gamma, 0 < gamma -> exists lambda_0, forall lambda, lambda_0 <= lambda -> forall i, (i < d)%nat ->
      Rabs (x (pred S) i -
            Sum d (fun k => M i k * sharp_output d S (fun s j => Sum d (fun l => M' j l * x s l)) lambda k)) <= gamma.

(** d = 1, x_1 = 2, x_2 = 1, any number M other than 0: the head reads x_1 at least as much as x_2, so M of it is at
    least 3/2. *)
(* Answers: dana.skip-head. *)
Theorem sharp_head_reads_the_longer_vector : forall M lambda, M <> 0 -> 0 <= lambda ->
  3 / 2 <= M * sharp_output 1 2 (fun s _ => / M * match s with 0%nat => 2 | _ => 1 end) lambda 0.
Proof.
  intros M lambda HM Hl. unfold sharp_output, sharp_score. simpl.
  set (a := exp _). set (b := exp (lambda * (0 + / M * 1 * (/ M * 1)))).
  assert (Hb : 0 < b) by apply exp_pos.
  assert (Ha : b <= a).
  { unfold a, b.
    assert (Q : 0 <= / M * / M) by (pose proof (Rle_0_sqr (/ M)); assumption).
    assert (lambda * (0 + / M * 1 * (/ M * 1)) <= lambda * (0 + / M * 1 * (/ M * 2))).
    { apply Rmult_le_compat_l; [assumption |]. lra. }
    destruct (Req_dec (lambda * (0 + / M * 1 * (/ M * 1))) (lambda * (0 + / M * 1 * (/ M * 2)))) as [E | E].
    - rewrite E. lra.
    - left. apply exp_increasing. lra. }
  replace (M * ((0 + a * (/ M * 2) + b * (/ M * 1)) / (0 + a + b))) with ((2 * a + b) / (a + b)) by (field; lra).
  apply (Rmult_le_reg_r (a + b)); [lra |]. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** So the head does not tend to the skip connection, as printed for every invertible W_OV. *)
(* Answers: dana.skip-head. *)
Theorem skip_head_is_false : ~ printed_skip_head.
Proof.
  intro H.
  destruct (H 1%nat 2%nat (fun s _ => match s with 0%nat => 2 | _ => 1 end) (fun _ _ => 1) (fun _ _ => 1) ltac:(lia))
    with (gamma := 1 / 4) as [lambda_0 L]; [| lra |].
  { intros i j Hi Hj. replace i with 0%nat by lia. replace j with 0%nat by lia. rewrite delta_same. simpl. lra. }
  set (lambda := Rmax 0 lambda_0).
  specialize (L lambda (Rmax_r _ _) 0%nat ltac:(lia)). simpl Sum in L. simpl pred in L.
  pose proof (sharp_head_reads_the_longer_vector 1 lambda ltac:(lra) (Rmax_l _ _)) as C.
  rewrite Rabs_minus_sym in L. pose proof (Rle_abs (0 + 1 * sharp_output 1 2
    (fun s j => 0 + 1 * match s with 0%nat => 2 | _ => 1 end) lambda 0 - 1)) as A.
  replace (sharp_output 1 2 (fun s j => 0 + 1 * match s with 0%nat => 2 | _ => 1 end) lambda 0)
    with (sharp_output 1 2 (fun s _ => / 1 * match s with 0%nat => 2 | _ => 1 end) lambda 0) in A, L.
  - lra.
  - unfold sharp_output, sharp_score. simpl. rewrite Rinv_1, !Rplus_0_l. reflexivity.
Qed.

(** ** The rank behind the value maps *)

Definition independent (T P : nat) (A : nat -> nat -> R) : Prop := ~ dependent_rows T P A.

(** What is read before values, A' = (x_S, A), and after them, W_V A': the skip connection is a head of width d with
    the values [V_0]. *)
Definition before_values (m : network) (t : context) (j : nat) : R :=
  if lt_dec j (d_model m) then skip m t j
  else mixture m ((j - d_model m) / d_model m) t ((j - d_model m) mod d_model m).
Definition after_values (m : network) (V_0 : nat -> nat -> R) (t : context) (j : nat) : R :=
  if lt_dec j (d_model m) then Sum (d_model m) (fun i => skip m t i * V_0 i j)
  else feature m ((j - d_model m) / d_head m) t ((j - d_model m) mod d_head m).

(** A matrix with [r] columns, none of them a combination of the others. *)
Definition full_column_rank (d r : nat) (V : nat -> nat -> R) : Prop := independent r d (fun j i => V i j).

(** A network with other values; A' is the same. *)
Definition with_values (m : network) (V : nat -> nat -> nat -> R) : network := {|
  n_ctx := n_ctx m; d_model := d_model m; n_heads := n_heads m; d_qk := d_qk m; d_head := d_head m;
  d_vocab_out := d_vocab_out m; W_E := W_E m; W_pos := W_pos m; W_Q := W_Q m; W_K := W_K m;
  W_V := V; W_O := W_O m; W_U := W_U m |}.

(** Section 4.1: for T <= H d_h + d contexts W_V A' has rank T, for some values of full rank, if and only if A' has. *)
Definition printed_value_rank : Prop :=
  forall m N T ts, (1 <= d_head m <= d_model m)%nat -> contexts_of N (n_ctx m) T ts ->
    (T <= n_heads m * d_head m + d_model m)%nat ->
    ((exists V_0 V, full_column_rank (d_model m) (d_model m) V_0 /\
        (forall h, (h < n_heads m)%nat -> full_column_rank (d_model m) (d_head m) (V h)) /\
        independent T (d_model m + n_heads m * d_head m) (fun t => after_values (with_values m V) V_0 (ts t))) <->
     independent T (d_model m + n_heads m * d_model m) (fun t => before_values m (ts t))).

(** Contexts with one last token, one head of width 1: for all weights the rank behind the values is 2 at most. *)
(* Answers: dana.value-rank. *)
Theorem one_value_has_rank_two : forall m T ts c V_0, (0 < T)%nat -> n_heads m = 1%nat -> d_head m = 1%nat ->
  one_last_token m T ts c ->
  rank_at_most 2 T (d_model m + n_heads m * d_head m) (fun t => after_values m V_0 (ts t)).
Proof.
  intros m T ts c V_0 HT one narrow Hends.
  exists (fun t k => match k with 0%nat => 1 | _ => feature m 0 (ts t) 0 end),
    (fun k j => if lt_dec j (d_model m)
                then match k with 0%nat => after_values m V_0 (ts 0%nat) j | _ => 0 end
                else match k with 0%nat => 0 | _ => 1 end).
  intros t j Ht Hj. simpl Sum. unfold after_values.
  destruct (lt_dec j (d_model m)).
  - rewrite (Sum_ext _ _ (fun i => skip m (ts 0%nat) i * V_0 i j)); [ring |].
    intros i _. unfold skip, input. rewrite (Hends t Ht), (Hends 0%nat HT). reflexivity.
  - replace (j - d_model m)%nat with 0%nat by lia. rewrite narrow. simpl. ring.
Qed.

(** Three contexts of two tokens with one last token, d = 2, one head of width 1, equal attention. *)
Definition narrow_network : network := {|
  n_ctx := 2; d_model := 2; n_heads := 1; d_qk := 1; d_head := 1; d_vocab_out := 3;
  W_E := fun n i => match n with 0%nat => delta 0 i | 1%nat => delta 1 i | _ => 1 end;
  W_pos := fun _ _ => 0; W_Q := fun _ _ _ => 0; W_K := fun _ _ _ => 0;
  W_V := fun _ i _ => delta 0 i; W_O := fun _ _ _ => 0; W_U := fun _ _ => 0 |}.
Definition ends_in_two (t : nat) : context := [t; 2%nat].

Lemma narrow_mixture : forall t i,
  mixture narrow_network 0 (ends_in_two t) i = (W_E narrow_network t i + 1) / 2.
Proof.
  intros t i. unfold mixture, attention, partition.
  assert (Z : forall s, score narrow_network 0 (ends_in_two t) s = 0).
  { intro s. unfold score, query. simpl. ring. }
  simpl Sum. rewrite !Z, exp_0. unfold input, embedding. simpl.
  change (token (ends_in_two t) 0) with t. field.
Qed.

(** Before the value the rank can be 3 = H d_h + d. *)
(* Answers: dana.value-rank. *)
Theorem narrow_network_reads_rank_three :
  independent 3 (2 + 1 * 2) (fun t => before_values narrow_network (ends_in_two t)).
Proof.
  intros [c [[t [Ht Hc]] H]].
  pose proof (H 0%nat ltac:(lia)) as H0. pose proof (H 2%nat ltac:(lia)) as H2. pose proof (H 3%nat ltac:(lia)) as H3.
  unfold before_values in H0, H2, H3. change (d_model narrow_network) with 2%nat in *. simpl in H0, H2, H3.
  rewrite !narrow_mixture in H2, H3. unfold skip, input, embedding in H0. simpl in H0, H2, H3.
  rewrite !delta_same, !delta_different in H2, H3 by discriminate.
  apply Hc. destruct t as [| [| [| t]]]; [lra | lra | lra | lia].
Qed.

(** So A' has rank T_0, and W_V A' has not, whatever the values are. *)
(* Answers: dana.value-rank. *)
Theorem value_rank_is_false : ~ printed_value_rank.
Proof.
  intro H. destruct (H narrow_network 3%nat 3%nat ends_in_two) as [_ Back].
  - simpl. lia.
  - split.
    + intros i Hi. split; [reflexivity |]. unfold token, ends_in_two.
      intros [| [| s]] Hs; simpl in *; lia.
    + intros i j _ _ E. injection E. auto.
  - simpl. lia.
  - destruct (Back narrow_network_reads_rank_three) as [V_0 [V [_ [_ After]]]].
    apply After, (rank_at_most_dependent 2); [lia |].
    apply (one_value_has_rank_two (with_values narrow_network V) 3 ends_in_two 2 V_0);
      [lia | reflexivity | reflexivity |].
    intros i _. reflexivity.
Qed.

(** ** The determinant of counted sequences *)

Definition total (S : nat) (f : nat -> nat) : nat := fold_right (fun k s => f k + s)%nat 0%nat (seq 0 S).
Definition factorials (S : nat) (f : nat -> nat) : nat := fold_right (fun k s => fact (f k) * s)%nat 1%nat (seq 0 S).

(** Indices are counted from 0, so that [n ^ (k + 1)] is the source's n^k. How often the index [k] occurs behind the
    first place of a sequence that begins with [i], and the number of such sequences; [m] is the index of the largest
    first coordinate. *)
Definition behind (n m i k : nat) : nat :=
  if Nat.eq_dec k m then 0%nat else (n ^ S k - if Nat.eq_dec k i then 1 else 0)%nat.
Definition sequences (S n m i : nat) : R :=
  INR (fact (total S (behind n m i))) / INR (factorials S (behind n m i)).

(** 3 indices, the last of them the largest, n = 2: 5, 10 and 15 sequences. *)
Example sequences_of_three :
  map (fun i => (fact (total 3 (behind 2 2 i)) / factorials 3 (behind 2 2 i))%nat) [0; 1; 2]%nat = [5; 10; 15]%nat.
Proof. reflexivity. Qed.

(** The matrix N X(t); its rows are n = 2, ..., d + 1, and [x i] is the input at the index [i]. *)
Definition counted (S m : nat) (x : nat -> nat -> R) (row j : nat) : R :=
  Sum S (fun i => sequences S (row + 2) m i * x i j).

(** Appendix A.1: for the embeddings of Lemma 3, so for some, the square matrix N X(t) has a nonzero determinant. *)
Definition printed_determinant : Prop :=
  forall S d m, (m < S)%nat -> (1 <= d)%nat -> exists x, independent d d (counted S m x).

(** S = 2, d >= 2: all entries of N are 1, so that all rows of N X(t) are equal, whatever the embeddings are. *)
Lemma two_indices_are_counted_once : forall n m i, (m < 2)%nat -> sequences 2 n m i = 1.
Proof.
  intros n m i Hm. unfold sequences, total, factorials. simpl fold_right.
  assert (B : behind n m i m = 0%nat) by (unfold behind; destruct (Nat.eq_dec m m); [reflexivity | contradiction]).
  destruct m as [| [| m]]; [| | lia]; rewrite B; rewrite ?Nat.add_0_r, ?Nat.mul_1_r, ?Nat.mul_1_l;
    simpl fact; rewrite ?Nat.add_0_l, ?Nat.mul_1_l, ?Nat.mul_1_r; unfold Rdiv; apply Rinv_r, INR_fact_neq_0.
Qed.

(** S = 2, d >= 2: the rows of N X(t) are dependent for all embeddings. *)
(* Answers: dana.lemma-2-determinant. *)
Theorem counted_determinant_is_zero : forall d m x, (2 <= d)%nat -> (m < 2)%nat -> dependent_rows d d (counted 2 m x).
Proof.
  intros d m x Hd Hm. exists (fun row => delta 0 row - delta 1 row). split.
  - exists 0%nat. split; [lia |]. rewrite delta_same, delta_different by lia. lra.
  - intros j _.
    rewrite (Sum_ext d _ (fun row => delta 0 row * (x 0%nat j + x 1%nat j) - delta 1 row * (x 0%nat j + x 1%nat j))).
    + rewrite Sum_minus, (Sum_delta d 0 (fun _ => _)), (Sum_delta d 1 (fun _ => _)) by lia. ring.
    + intros row _. unfold counted. simpl Sum. rewrite !two_indices_are_counted_once by assumption. ring.
Qed.

(** So its determinant is 0, and not as printed. *)
(* Answers: dana.lemma-2-determinant. *)
Theorem determinant_is_false : ~ printed_determinant.
Proof.
  intro H. destruct (H 2%nat 2%nat 0%nat ltac:(lia) ltac:(lia)) as [x Hx].
  apply Hx, counted_determinant_is_zero; lia.
Qed.
