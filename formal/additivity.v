(** What all weights of attention have in common: partition functions and unnormalized mixtures are sums over the
    positions of terms that depend on the last token, the position and the token there. So a linear relation among the
    indicators of the pairs (position, token) is one among the features and the logits, whatever the weights. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention.
Open Scope R_scope.

(** The numbers [k] are a linear relation among the indicators of the first [T] contexts of [ts]: at every position
    every token has the total 0. *)
Definition indicator_relation (S T : nat) (k : nat -> R) (ts : nat -> context) : Prop :=
  forall s n, (s < S)%nat -> Sum T (fun i => k i * delta (token (ts i) s) n) = 0.

(** The first [T] contexts of [ts] end with the token [c] at the last of the positions of [m]. *)
Definition one_last_token (m : network) (T : nat) (ts : nat -> context) (c : nat) : Prop :=
  forall i, (i < T)%nat -> token (ts i) (last_position m) = c.

Lemma bounded : forall T (f : nat -> nat), exists N, forall i, (i < T)%nat -> (f i < N)%nat.
Proof.
  intros T f. induction T as [| T [N HN]].
  - exists O. intros i Hi. lia.
  - exists (S (N + f T)). intros i Hi. destruct (Nat.eq_dec i T) as [-> | Hne]; [lia |].
    specialize (HN i). lia.
Qed.

Lemma relation_sums_to_zero : forall S T k ts, indicator_relation S T k ts ->
  forall g : nat -> nat -> R, Sum T (fun i => k i * Sum S (fun s => g s (token (ts i) s))) = 0.
Proof.
  intros S T k ts H g.
  rewrite (Sum_ext T _ (fun i => Sum S (fun s => k i * g s (token (ts i) s)))).
  2: { intros i _. symmetry. apply Sum_scale. }
  rewrite Sum_swap. apply Sum_all_zero. intros s Hs.
  destruct (bounded T (fun i => token (ts i) s)) as [N HN].
  rewrite (Sum_ext T _ (fun i => Sum N (fun n => k i * delta (token (ts i) s) n * g s n))).
  2: { intros i Hi. rewrite <- (Sum_delta N (token (ts i) s) (g s)) by (apply HN, Hi).
       rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
  rewrite Sum_swap. apply Sum_all_zero. intros n _. rewrite Sum_scale_right, (H s n Hs). ring.
Qed.

Section Relation.

Variables (m : network) (T c : nat) (k : nat -> R) (ts : nat -> context).
Hypothesis positions : (0 < n_ctx m)%nat.
Hypothesis ends : one_last_token m T ts c.
Hypothesis relation : indicator_relation (n_ctx m) T k ts.

(** The exponential of the score of token [n] at position [s] when the last token is [c]. *)
Let weight (h s n : nat) : R :=
  exp (Sum (d_qk m) (fun q =>
    Sum (d_model m) (fun i => embedding m (last_position m) c i * W_Q m h i q) *
    Sum (d_model m) (fun i => embedding m s n i * W_K m h i q))).

Lemma exp_score : forall h i s, (i < T)%nat -> exp (score m h (ts i) s) = weight h s (token (ts i) s).
Proof. intros h i s Hi. unfold score, query, key, input, weight. rewrite (ends i Hi). reflexivity. Qed.

Lemma partition_relation : forall h, Sum T (fun i => k i * partition m h (ts i)) = 0.
Proof.
  intro h. rewrite <- (relation_sums_to_zero _ _ _ _ relation (weight h)).
  apply Sum_ext. intros i Hi. f_equal. apply Sum_ext. intros s _. apply exp_score, Hi.
Qed.

Lemma mixture_unnormalized : forall h t i,
  partition m h t * mixture m h t i = Sum (n_ctx m) (fun s => exp (score m h t s) * input m t s i).
Proof.
  intros h t i. unfold mixture. rewrite <- Sum_scale. apply Sum_ext. intros s _. unfold attention.
  field. apply Rgt_not_eq, partition_positive, positions.
Qed.

Lemma mixture_relation : forall h j, Sum T (fun i => k i * partition m h (ts i) * mixture m h (ts i) j) = 0.
Proof.
  intros h j.
  rewrite <- (relation_sums_to_zero _ _ _ _ relation (fun s n => weight h s n * embedding m s n j)).
  apply Sum_ext. intros i Hi. rewrite Rmult_assoc, mixture_unnormalized. f_equal. apply Sum_ext. intros s _.
  rewrite exp_score by assumption. reflexivity.
Qed.

Lemma skip_relation : forall h j, Sum T (fun i => k i * partition m h (ts i) * skip m (ts i) j) = 0.
Proof.
  intros h j.
  rewrite (Sum_ext T _ (fun i => k i * partition m h (ts i) * embedding m (last_position m) c j)).
  - rewrite Sum_scale_right, partition_relation. ring.
  - intros i Hi. unfold skip, input. rewrite (ends i Hi). reflexivity.
Qed.

Lemma feature_relation : forall h j, Sum T (fun i => k i * partition m h (ts i) * feature m h (ts i) j) = 0.
Proof.
  intros h j. unfold feature.
  rewrite (Sum_ext T _ (fun i => Sum (d_model m)
    (fun l => k i * partition m h (ts i) * mixture m h (ts i) l * W_V m h l j))).
  2: { intros i _. rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
  rewrite Sum_swap. apply Sum_all_zero. intros l _. rewrite Sum_scale_right, mixture_relation. ring.
Qed.

(** One head: the logits satisfy the relation too, with the positive factors [partition m 0 t]. *)
Lemma logit_relation : n_heads m = 1%nat ->
  forall n, Sum T (fun i => k i * partition m 0 (ts i) * logit m (ts i) n) = 0.
Proof.
  intros one n. unfold logit.
  rewrite (Sum_ext T _ (fun i => Sum (d_model m)
    (fun l => k i * partition m 0 (ts i) * stream m (ts i) l * W_U m l n))).
  2: { intros i _. rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
  rewrite Sum_swap. apply Sum_all_zero. intros l _. rewrite Sum_scale_right.
  replace (Sum T (fun i => k i * partition m 0 (ts i) * stream m (ts i) l)) with 0; [ring |]. symmetry.
  unfold stream. rewrite one.
  rewrite (Sum_ext T _ (fun i => k i * partition m 0 (ts i) * skip m (ts i) l +
    Sum (d_head m) (fun j => k i * partition m 0 (ts i) * feature m 0 (ts i) j * W_O m 0 j l))).
  2: { intros i _. simpl Sum at 1. rewrite Rplus_0_l, Rmult_plus_distr_l. f_equal.
       rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
  rewrite Sum_plus, skip_relation, Sum_swap, Sum_all_zero; [ring |].
  intros j _. rewrite Sum_scale_right, feature_relation. ring.
Qed.

End Relation.

(** Two heads and more: every head has such a relation of its own, with its own factors. In words: on contexts with one
    last token, a linear relation [k] among their indicators gives, for all weights, positive numbers D with
    sum k D = 0, sum k D mixture = 0, and, for one head, sum k D logits = 0. *)
(* Answers: Lemma O3, dana.theorem-1. *)
Theorem indicator_relation_holds_for_all_weights : forall m T c k ts, (0 < n_ctx m)%nat ->
  one_last_token m T ts c -> indicator_relation (n_ctx m) T k ts ->
  forall h, exists D : nat -> R, (forall i, 0 < D i) /\
    Sum T (fun i => k i * D i) = 0 /\
    (forall j, Sum T (fun i => k i * D i * mixture m h (ts i) j) = 0) /\
    (forall j, Sum T (fun i => k i * D i * skip m (ts i) j) = 0) /\
    (n_heads m = 1%nat -> h = O -> forall n, Sum T (fun i => k i * D i * logit m (ts i) n) = 0).
Proof.
  intros m T c k ts Hpos Hends Hrel h. exists (fun i => partition m h (ts i)).
  split; [intro i; apply partition_positive, Hpos |].
  split; [apply (partition_relation m T c k ts Hends Hrel) |].
  split; [apply (mixture_relation m T c k ts Hpos Hends Hrel) |].
  split; [apply (skip_relation m T c k ts Hends Hrel) |].
  intros one -> n. apply (logit_relation m T c k ts Hpos Hends Hrel one).
Qed.
