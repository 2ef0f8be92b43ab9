(** Heads alone, without the skip connection, before values: the matrix of Lemma 2 of Dana, Pydi and Chevaleyre
    (2024), and four kinds of contexts on which its rank is smaller than printed, for all weights. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention rank additivity accuracy exclusive_or.
Import ListNotations.
Open Scope R_scope.

(** The attention outputs of all heads on the contexts [ts], a row for each; column [h * d + i] is coordinate [i] of
    head [h]. *)
Definition outputs (m : network) (ts : nat -> context) (t j : nat) : R :=
  mixture m (j / d_model m) (ts t) (j mod d_model m).

Definition output_rank_at_most (r : nat) (m : network) (T : nat) (ts : nat -> context) : Prop :=
  rank_at_most r T (n_heads m * d_model m) (outputs m ts).

(** Lemma 2 as printed: for any T contexts there are weights of H heads with rank min(T, H d) or more. *)
Definition printed_lemma_2 : Prop :=
  forall N S d H T ts, contexts_of N S T ts -> (0 < min T (H * d))%nat ->
    exists m, n_ctx m = S /\ d_model m = d /\ n_heads m = H /\ ~ output_rank_at_most (pred (min T (H * d))) m T ts.

(** One head is its own matrix. *)
Lemma one_head_outputs : forall m ts t j, (j < d_model m)%nat -> outputs m ts t j = mixture m 0 (ts t) j.
Proof. intros m ts t j H. unfold outputs. rewrite Nat.div_small, Nat.mod_small by assumption. reflexivity. Qed.

(** Exclusive or, one head of any width: rank 3 at most on four contexts, for every length S >= 3. *)
(* Answers: dana.lemma-2. *)
Theorem exclusive_or_output_rank : forall m, (3 <= n_ctx m)%nat -> n_heads m = 1%nat ->
  output_rank_at_most 3 m 4 (exclusive_or (n_ctx m)).
Proof.
  intros m H one. unfold output_rank_at_most. rewrite one, Nat.mul_1_l.
  destruct (exclusive_or_mixture_rank m H) as [B [C HBC]]. exists B, C. intros t j Ht Hj.
  rewrite one_head_outputs by assumption. apply HBC; assumption.
Qed.

(** S = 1: a head returns what stands at the only position, so that any number of heads has rank d at most. *)
(* Answers: dana.lemma-2. *)
Theorem one_token_output_rank : forall m T ts, n_ctx m = 1%nat -> output_rank_at_most (d_model m) m T ts.
Proof.
  intros m T ts one. exists (fun t i => input m (ts t) 0 i), (fun i j => delta i (j mod d_model m)).
  intros t j Ht Hj.
  assert (j mod d_model m < d_model m)%nat as Hmod by (apply Nat.mod_upper_bound; intro E; rewrite E in Hj; lia).
  rewrite (Sum_ext _ _ (fun i => delta (j mod d_model m) i * input m (ts t) 0 i))
    by (intros; rewrite delta_sym; ring).
  rewrite (Sum_delta _ _ (fun i => input m (ts t) 0 i)) by assumption.
  unfold outputs, mixture. rewrite one. simpl Sum.
  assert (A : attention m (j / d_model m) (ts t) 0 = 1).
  { pose proof (attention_total m (j / d_model m) (ts t) ltac:(lia)) as E. rewrite one in E. simpl in E. lra. }
  rewrite A. ring.
Qed.

(** Loops (n, n), S = 2: all differences of the two inputs are one vector. The rank is d + H - 1 at most. *)
Definition loop (n : nat) : context := [n; n].

Lemma loop_mixture : forall m h n i, n_ctx m = 2%nat ->
  mixture m h (loop n) i = embedding m 1 n i + attention m h (loop n) 0 * (W_pos m 0 i - W_pos m 1 i).
Proof.
  intros m h n i two. pose proof (attention_total m h (loop n) ltac:(lia)) as E. rewrite two in E. simpl in E.
  unfold mixture, input, embedding. rewrite two. simpl. unfold token, loop in *. simpl in *.
  replace (attention m h [n; n] 1) with (1 - attention m h [n; n] 0) by lra. ring.
Qed.

(** Loops (n, n): heads alone have rank d + H - 1 at most. *)
(* Answers: dana.lemma-2. *)
Theorem loop_output_rank : forall m T, n_ctx m = 2%nat -> (1 <= n_heads m)%nat ->
  output_rank_at_most (d_model m + (n_heads m - 1)) m T loop.
Proof.
  intros m T two Hheads. set (d := d_model m). set (H := n_heads m) in *.
  exists (fun t k => if lt_dec k d then mixture m 0 (loop t) k
                     else attention m (k - d + 1) (loop t) 0 - attention m 0 (loop t) 0).
  exists (fun k j => if lt_dec k d then delta k (j mod d)
                     else delta (k - d + 1) (j / d) * (W_pos m 0 (j mod d) - W_pos m 1 (j mod d))).
  intros t j Ht Hj. unfold output_rank_at_most in *. fold d in Hj.
  assert (Hd : d <> 0%nat) by (intro E; rewrite E in Hj; lia).
  assert (Hmod : (j mod d < d)%nat) by (apply Nat.mod_upper_bound, Hd).
  assert (Hdiv : (j / d < H)%nat) by (apply Nat.div_lt_upper_bound; lia).
  rewrite Sum_split.
  rewrite (Sum_ext d _ (fun k => delta (j mod d) k * mixture m 0 (loop t) k)).
  2: { intros k Hk. destruct (lt_dec k d); [rewrite delta_sym; ring | lia]. }
  rewrite (Sum_delta d _ (fun k => mixture m 0 (loop t) k)) by assumption.
  unfold outputs. fold d. rewrite !loop_mixture by assumption.
  set (step := W_pos m 0 (j mod d) - W_pos m 1 (j mod d)).
  rewrite (Sum_ext (H - 1) _ (fun k => delta (j / d) (S k) *
    ((attention m (S k) (loop t) 0 - attention m 0 (loop t) 0) * step))).
  2: { intros k Hk. destruct (lt_dec (d + k) d); [lia |]. replace (d + k - d + 1)%nat with (S k) by lia.
       rewrite delta_sym. fold step. ring. }
  destruct (j / d)%nat as [| h] eqn:E.
  - rewrite Sum_all_zero; [ring |]. intros k _. rewrite delta_different by lia. ring.
  - rewrite (Sum_ext (H - 1) _ (fun k => delta h k *
      ((attention m (S k) (loop t) 0 - attention m 0 (loop t) 0) * step))).
    2: { intros k _. f_equal. unfold delta. destruct (Nat.eq_dec (S h) (S k)), (Nat.eq_dec h k); congruence. }
    rewrite (Sum_delta (H - 1) h (fun k => (attention m (S k) (loop t) 0 - attention m 0 (loop t) 0) * step)) by lia.
    ring.
Qed.

(** Wide embeddings: all inputs lie in the span of N + S - 1 vectors, so that a head adds no more, however wide it
    is. *)
(* Answers: dana.lemma-2. *)
Theorem wide_output_rank : forall m N S T ts, n_ctx m = S -> contexts_of N S T ts -> (1 <= N)%nat -> (1 <= S)%nat ->
  output_rank_at_most (n_heads m * (N + S - 1)) m T ts.
Proof.
  intros m N S T ts HS [Hts _] HN Hpos. set (d := d_model m). set (q := (N + S - 1)%nat).
  (* Coordinate k < N of a mixture is the attention to token k, coordinate N + s that to position s + 1. *)
  pose (part := fun (h t k : nat) => if lt_dec k N
    then Sum S (fun s => attention m h (ts t) s * delta (token (ts t) s) k)
    else attention m h (ts t) (k - N + 1)).
  pose (basis := fun k i => if lt_dec k N then embedding m 0 k i else W_pos m (k - N + 1) i - W_pos m 0 i).
  assert (Hmixture : forall h t i, (t < T)%nat -> mixture m h (ts t) i = Sum q (fun k => part h t k * basis k i)).
  { intros h t i Ht. unfold q. replace (N + S - 1)%nat with (N + (S - 1))%nat by lia. rewrite Sum_split.
    rewrite (Sum_ext N _ (fun k => Sum S (fun s =>
      attention m h (ts t) s * delta (token (ts t) s) k * embedding m 0 k i))).
    2: { intros k Hk. unfold part, basis. destruct (lt_dec k N); [| lia]. rewrite <- Sum_scale_right. reflexivity. }
    rewrite Sum_swap.
    rewrite (Sum_ext S _ (fun s => attention m h (ts t) s * embedding m 0 (token (ts t) s) i)).
    2: { intros s Hs. destruct (Hts t Ht) as [_ Htok].
         rewrite <- (Sum_delta N (token (ts t) s) (fun k => embedding m 0 k i)) by (apply Htok, Hs).
         rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
    rewrite (Sum_ext (S - 1) _ (fun s => attention m h (ts t) (s + 1) * (W_pos m (s + 1) i - W_pos m 0 i))).
    2: { intros s Hs. unfold part, basis. destruct (lt_dec (N + s) N); [lia |].
         replace (N + s - N + 1)%nat with (s + 1)%nat by lia. reflexivity. }
    unfold mixture, input. rewrite HS.
    replace S with (Datatypes.S (S - 1)) at 1 2 by lia. rewrite !Sum_first.
    rewrite Rplus_assoc, <- Sum_plus. f_equal.
    apply Sum_ext. intros s _. replace (s + 1)%nat with (Datatypes.S s) by lia. unfold embedding. ring. }
  exists (fun t c => part (c / q)%nat t (c mod q)%nat).
  exists (fun c j => delta (c / q) (j / d) * basis (c mod q)%nat (j mod d)%nat).
  intros t j Ht Hj. fold d in Hj.
  assert (Hd : d <> 0%nat) by (intro E; rewrite E in Hj; lia).
  assert (Hdiv : (j / d < n_heads m)%nat) by (apply Nat.div_lt_upper_bound; lia).
  assert (Hq : q <> 0%nat) by (unfold q; lia).
  unfold outputs. fold d. rewrite Hmixture by assumption.
  (* The sum over all columns, head by head. *)
  assert (Hblocks : forall n f, Sum (n * q) f = Sum n (fun h => Sum q (fun k => f (h * q + k)%nat))).
  { induction n as [| n IH]; intro f; [reflexivity |].
    replace (Datatypes.S n * q)%nat with (n * q + q)%nat by lia. rewrite Sum_split, IH. reflexivity. }
  rewrite Hblocks.
  rewrite (Sum_ext (n_heads m) _ (fun h => delta (j / d) h * Sum q (fun k => part h t k * basis k (j mod d)%nat))).
  - rewrite (Sum_delta (n_heads m) _ (fun h => Sum q (fun k => part h t k * basis k (j mod d)%nat))) by assumption.
    reflexivity.
  - intros h Hh. rewrite <- Sum_scale. apply Sum_ext. intros k Hk.
    replace ((h * q + k) / q)%nat with h by (rewrite Nat.div_add_l, (Nat.div_small k q) by assumption; lia).
    replace ((h * q + k) mod q)%nat with k
      by (rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by assumption; reflexivity).
    rewrite delta_sym. ring.
Qed.

(** ** Lemma 2 is false, four times *)

Lemma loops_are_contexts : forall T, contexts_of T 2 T loop.
Proof.
  intro T. split.
  - intros i Hi. split; [reflexivity |]. intros s Hs. destruct s as [| [| s]]; unfold token; simpl; lia.
  - intros i j _ _ E. injection E. auto.
Qed.

Definition single (n : nat) : context := [n].

Lemma singles_are_contexts : forall T, contexts_of T 1 T single.
Proof.
  intro T. split.
  - intros i Hi. split; [reflexivity |]. intros s Hs. destruct s as [| s]; unfold token; simpl; lia.
  - intros i j _ _ E. injection E. auto.
Qed.

(** All bigrams of two tokens: 00, 01, 10, 11. *)
Definition bigram (t : nat) : context :=
  match t with 0%nat => [0; 0] | 1%nat => [0; 1] | 2%nat => [1; 0] | _ => [1; 1] end%nat.

Lemma bigrams_are_contexts : contexts_of 2 2 4 bigram.
Proof.
  split.
  - intros i Hi. split; [destruct i as [| [| [| i]]]; reflexivity |].
    intros s Hs. destruct s as [| [| s]]; destruct i as [| [| [| i]]]; unfold token; simpl; lia.
  - intros i j Hi Hj. destruct i as [| [| [| [| i]]]]; destruct j as [| [| [| [| j]]]]; simpl; try lia; discriminate.
Qed.

(** What Lemma 2 prints for given sizes and contexts. *)
Definition printed_rank_reached (S d H T : nat) (ts : nat -> context) : Prop :=
  exists m, n_ctx m = S /\ d_model m = d /\ n_heads m = H /\ ~ output_rank_at_most (pred (min T (H * d))) m T ts.

(** Exclusive or of every length S >= 3, every width d >= 4, one head: printed 4, at most 3. *)
(* Answers: dana.lemma-2. *)
Theorem lemma_2_fails_on_exclusive_or : forall S d, (3 <= S)%nat -> (4 <= d)%nat ->
  ~ printed_rank_reached S d 1 4 (exclusive_or S).
Proof.
  intros S d HS Hd [m [Hctx [Hwidth [one Hrank]]]]. apply Hrank.
  replace (pred (min 4 (1 * d))) with 3%nat by lia. rewrite <- Hctx. apply exclusive_or_output_rank; lia.
Qed.

(** Loops of two tokens, two heads or more, so many loops that T > d + H - 1 and H d > d + H - 1. Four loops with d =
    H = 2: printed 4, at most 3; nine loops with d = H = 3: printed 9, at most 5. *)
(* Answers: dana.lemma-2. *)
Theorem lemma_2_fails_on_loops : forall d H T, (2 <= d)%nat -> (2 <= H)%nat -> (d + H <= T)%nat ->
  ~ printed_rank_reached 2 d H T loop.
Proof.
  intros d H T Hd HH HT [m [Hctx [Hwidth [Hheads Hrank]]]]. apply Hrank.
  apply rank_at_most_more with (d_model m + (n_heads m - 1))%nat.
  - rewrite Hwidth, Hheads. assert (d + H <= H * d)%nat by nia. lia.
  - apply loop_output_rank; lia.
Qed.

(** Nine loops, d = H = 3: rank at most 5. *)
(* Answers: dana.lemma-2. *)
Theorem nine_loops_have_rank_five : forall m, n_ctx m = 2%nat -> d_model m = 3%nat -> n_heads m = 3%nat ->
  output_rank_at_most 5 m 9 loop.
Proof.
  intros m Hctx Hwidth Hheads. replace 5%nat with (d_model m + (n_heads m - 1))%nat by lia.
  apply loop_output_rank; lia.
Qed.

(** One position, two heads or more, more contexts than dimensions: printed more than d, at most d. *)
(* Answers: dana.lemma-2. *)
Theorem lemma_2_fails_for_one_position : forall d H T, (1 <= d)%nat -> (2 <= H)%nat -> (d < T)%nat ->
  ~ printed_rank_reached 1 d H T single.
Proof.
  intros d H T Hd HH HT [m [Hctx [Hwidth [Hheads Hrank]]]]. apply Hrank.
  apply rank_at_most_more with (d_model m).
  - rewrite Hwidth. assert (d + 1 <= H * d)%nat by nia. lia.
  - apply one_token_output_rank, Hctx.
Qed.

(** All bigrams of two tokens, one head of width 4 > N + S - 1 = 3: printed 4, at most 3. *)
(* Answers: dana.lemma-2. *)
Theorem lemma_2_fails_for_wide_embeddings : forall d, (4 <= d)%nat -> ~ printed_rank_reached 2 d 1 4 bigram.
Proof.
  intros d Hd [m [Hctx [Hwidth [Hheads Hrank]]]]. apply Hrank.
  replace (pred (min 4 (1 * d))) with (n_heads m * (2 + 2 - 1))%nat by lia.
  apply wide_output_rank; [assumption | apply bigrams_are_contexts | lia | lia].
Qed.

(** Lemma 2 as printed is false. *)
(* Answers: dana.lemma-2. *)
Theorem lemma_2_is_false : ~ printed_lemma_2.
Proof.
  intro H. apply (lemma_2_fails_on_exclusive_or 3 4); [lia | lia |].
  exact (H 2 3 4 1 4 (exclusive_or 3) (exclusive_or_contexts 3 ltac:(lia)) ltac:(simpl; lia))%nat.
Qed.
