(** Layers that read vectors, as docs/layer.md defines them, with values that are narrower than the output: how many
    labels they do not hold, and how many dimensions one mixing layer does not reach. Both are theorems of this project,
    beside Theorem 1 and Proposition 4 of Mahdavi, Liao and Thrampoulidis (2024), whose formulas were not at hand: they
    say nothing of what is printed there. *)

From Coq Require Import Reals Lra Lia Arith.
From Formal Require Import sums rank.
Open Scope R_scope.

(** A context is the matrix of its [n] tokens in [d] dimensions, a query is a vector. What a head mixes of the context
    for the query, and entry [j] of its value. *)
Definition vector_score (d d_h : nat) (W_Q W_K : nat -> nat -> R) (q x : nat -> R) : R :=
  Sum d_h (fun k => Sum d (fun i => q i * W_Q i k) * Sum d (fun i => x i * W_K i k)).
Definition mixed (n d d_h : nat) (W_Q W_K E : nat -> nat -> R) (q : nat -> R) (i : nat) : R :=
  Sum n (fun s => exp (vector_score d d_h W_Q W_K q (E s)) * E s i) /
  Sum n (fun s => exp (vector_score d d_h W_Q W_K q (E s))).
Definition value_entry (n d d_h : nat) (W_Q W_K W_V E : nat -> nat -> R) (q : nat -> R) (j : nat) : R :=
  Sum d (fun i => mixed n d d_h W_Q W_K E q i * W_V i j).

(** The values of [H] heads of width [d_v], one after the other, behind [W_O]. *)
Definition heads_output (n d d_h d_v H : nat) (W_Q W_K W_V : nat -> nat -> nat -> R) (W_O E : nat -> nat -> R)
  (q : nat -> R) (k : nat) : R :=
  Sum (H * d_v) (fun j =>
    value_entry n d d_h (W_Q (j / d_v)%nat) (W_K (j / d_v)%nat) (W_V (j / d_v)%nat) E q (j mod d_v) * W_O j k).

(** Every [n] of the [T] vectors are independent, and there are as many. *)
Definition kruskal_rank_at_least (n T d : nat) (q : nat -> nat -> R) : Prop :=
  (n <= T)%nat /\ forall I : nat -> nat, (forall k, (k < n)%nat -> (I k < T)%nat) ->
    (forall k l, (k < n)%nat -> (l < n)%nat -> I k = I l -> k = l) -> ~ dependent_rows n d (fun k => q (I k)).

(** Assumption 1: of the queries; Assumption 2: every context has rank [n]. *)
Definition assumption_1 (n T d : nat) (q : nat -> nat -> R) : Prop := kruskal_rank_at_least n T d q.
Definition assumption_2 (n T d : nat) (E : nat -> nat -> nat -> R) : Prop :=
  forall t, (t < T)%nat -> ~ dependent_rows n d (E t).

(** Values of any width: n < d, T <= H (min(n, d_h) - 1) + 1 examples, any labels of [d_out] numbers. A reconstruction
    without a condition on [d_v] and [d_out], which the paper may have. *)
Definition values_of_any_width_hold_labels : Prop :=
  forall n d d_h d_v d_o d_out H T E q y, (1 <= n < d)%nat -> (1 <= d_h)%nat -> (1 <= d_v)%nat -> (1 <= d_o)%nat ->
    (T <= H * (min n d_h - 1) + 1)%nat -> assumption_1 n T d q -> assumption_2 n T d E ->
    exists W_Q W_K W_V W_O W_D, forall t l, (t < T)%nat -> (l < d_out)%nat ->
      Sum d_o (fun k => heads_output n d d_h d_v H W_Q W_K W_V W_O (E t) (q t) k * W_D k l) = y t l.

(** Independent vectors have the Kruskal rank of their number. *)
Lemma independent_kruskal : forall T d q, ~ dependent_rows T d q -> kruskal_rank_at_least T T d q.
Proof.
  intros T d q Hq. split; [lia |]. intros I HI Hinj [c [[k [Hk Hc]] E]]. apply Hq.
  exists (fun t => Sum T (fun l => delta (I l) t * c l)). split.
  - exists (I k). split; [apply HI, Hk |].
    rewrite (Sum_ext T _ (fun l => delta k l * c l)); [rewrite Sum_delta; assumption |].
    intros l Hl. destruct (Nat.eq_dec k l) as [-> | Hne]; [rewrite !delta_same; ring |].
    rewrite !delta_different; [ring | assumption |]. intro Heq. apply Hne. symmetry. apply Hinj; assumption.
  - intros j Hj. rewrite (Sum_ext T _ (fun t => Sum T (fun l => delta (I l) t * (c l * q t j)))).
    + rewrite Sum_swap, <- (E j Hj). apply Sum_ext. intros l Hl.
      apply (Sum_delta T (I l) (fun t => c l * q t j)), HI, Hl.
    + intros t _. rewrite <- Sum_scale_right. apply Sum_ext. intros; ring.
Qed.

Lemma unit_vectors_are_independent : forall T d, (T <= d)%nat -> ~ dependent_rows T d delta.
Proof.
  intros T d HT [c [[t [Ht Hc]] E]]. apply Hc. rewrite <- (Sum_delta T t c Ht), <- (E t ltac:(lia)).
  apply Sum_ext. intros l _. rewrite delta_sym. ring.
Qed.

(** One head with values of width 1 gives outputs of rank 1, whatever the other widths are. *)
(* Answers: a theorem of our own on the subject of mahdavi.theorem-1. *)
Theorem one_value_gives_rank_one : forall n d d_h d_o d_out T W_Q W_K W_V W_O W_D E q,
  rank_at_most 1 T d_out
    (fun t l => Sum d_o (fun k => heads_output n d d_h 1 1 W_Q W_K W_V W_O (E t) (q t) k * W_D k l)).
Proof.
  intros. exists (fun t _ => value_entry n d d_h (W_Q 0%nat) (W_K 0%nat) (W_V 0%nat) (E t) (q t) 0),
    (fun _ l => Sum d_o (fun k => W_O 0%nat k * W_D k l)).
  intros t l _ _. simpl Sum at 2. rewrite Rplus_0_l, <- Sum_scale. apply Sum_ext. intros k _.
  unfold heads_output. simpl. ring.
Qed.

(** So not of any width. n = T = 2, d = 3, H = d_v = 1: the labels (1, 0) and (0, 1). *)
(* Answers: a theorem of our own on the subject of mahdavi.theorem-1. *)
Theorem values_narrower_than_labels_fail : ~ values_of_any_width_hold_labels.
Proof.
  intro H. destruct (H 2%nat 3%nat 2%nat 1%nat 2%nat 2%nat 1%nat 2%nat (fun _ => delta) delta delta)
    as [W_Q [W_K [W_V [W_O [W_D Hy]]]]]; try (simpl; lia).
  - apply independent_kruskal, unit_vectors_are_independent. lia.
  - intros t _. apply unit_vectors_are_independent. lia.
  - apply (unit_matrix_rank 1 2 ltac:(lia)).
    destruct (one_value_gives_rank_one 2 3 2 2 2 2 W_Q W_K W_V W_O W_D (fun _ => delta) delta) as [B [C HBC]].
    exists B, C. intros t j Ht Hj. rewrite <- (HBC t j Ht Hj). symmetry. apply Hy; assumption.
Qed.

(** ** One mixing layer *)

(** The tokens behind self-attention with a skip connection; the first of a context is its query. *)
Definition after_layer (n d d_h d_v H : nat) (W_Q W_K W_V : nat -> nat -> nat -> R) (W_O E : nat -> nat -> R)
  (s i : nat) : R :=
  E s i + heads_output n d d_h d_v H W_Q W_K W_V W_O E (E s) i.

(** Assumption 3: the queries plus the means of their contexts have Kruskal rank [n] or more. *)
Definition assumption_3 (n T d : nat) (E : nat -> nat -> nat -> R) : Prop :=
  kruskal_rank_at_least n T d (fun t i => E t 0%nat i + Sum n (fun s => E t s i) / INR n).

(** Values of any width: under Assumptions 2 and 3 some weights of the layer make Assumptions 1 and 2 true. A
    reconstruction without a condition on [d_v], which the paper may have. *)
Definition values_of_any_width_mix : Prop :=
  forall n d d_h d_v H T E, (1 <= n <= d)%nat -> (1 <= d_h)%nat -> (1 <= d_v)%nat -> (1 <= H)%nat ->
    assumption_2 n T d E -> assumption_3 n T d E ->
    exists W_Q W_K W_V W_O,
      let after := fun t => after_layer n d d_h d_v H W_Q W_K W_V W_O (E t) in
      assumption_1 n T d (fun t => after t 0%nat) /\ assumption_2 n T d after.

(** Equal queries stay in two dimensions, those of the query and of the one row of W_O. *)
(* Answers: a theorem of our own on the subject of mahdavi.proposition-4. *)
Theorem equal_queries_stay_in_a_plane : forall n d d_h T W_Q W_K W_V W_O E e,
  (forall t i, (t < T)%nat -> E t 0%nat i = e i) ->
  rank_at_most 2 T d (fun t => after_layer n d d_h 1 1 W_Q W_K W_V W_O (E t) 0%nat).
Proof.
  intros n d d_h T W_Q W_K W_V W_O E e He.
  exists (fun t k => match k with 0%nat => 1
                     | _ => value_entry n d d_h (W_Q 0%nat) (W_K 0%nat) (W_V 0%nat) (E t) (E t 0%nat) 0 end),
    (fun k i => match k with 0%nat => e i | _ => W_O 0%nat i end).
  intros t i Ht _. unfold after_layer, heads_output. rewrite He by assumption. simpl. ring.
Qed.

(** Three contexts of three tokens with the query (1, 0, 0): then (0, 1, 0), and (0, 0, 1), (0, 1, 1) or (0, 0, 2). *)
Definition equal_queries (t s i : nat) : R :=
  match s, t with
  | 2%nat, 1%nat => delta 1 i + delta 2 i
  | 2%nat, 2%nat => 2 * delta 2 i
  | _, _ => delta s i
  end.

Lemma equal_queries_are_independent : assumption_2 3 3 3 equal_queries.
Proof.
  intros t Ht [c [[s [Hs Hc]] E]].
  pose proof (E 0%nat ltac:(lia)) as E0. pose proof (E 1%nat ltac:(lia)) as E1. pose proof (E 2%nat ltac:(lia)) as E2.
  unfold equal_queries, delta in *. destruct t as [| [| [| t]]]; [| | | lia]; simpl in E0, E1, E2;
    apply Hc; destruct s as [| [| [| s]]]; lra || lia.
Qed.

Lemma equal_queries_and_means : assumption_3 3 3 3 equal_queries.
Proof.
  apply independent_kruskal. intros [c [[s [Hs Hc]] E]].
  pose proof (E 0%nat ltac:(lia)) as E0. pose proof (E 1%nat ltac:(lia)) as E1. pose proof (E 2%nat ltac:(lia)) as E2.
  unfold equal_queries, delta in *. simpl in E0, E1, E2.
  apply Hc; destruct s as [| [| [| s]]]; lra || lia.
Qed.

(** So not of any width: for n = d = T = 3 no layer with H = d_v = 1 makes Assumption 1 true. *)
(* Answers: a theorem of our own on the subject of mahdavi.proposition-4. *)
Theorem narrow_values_do_not_mix : ~ values_of_any_width_mix.
Proof.
  intro H. destruct (H 3%nat 3%nat 1%nat 1%nat 1%nat 3%nat equal_queries) as [W_Q [W_K [W_V [W_O [[_ K] _]]]]];
    try lia; [exact equal_queries_are_independent | exact equal_queries_and_means |].
  apply (K (fun t => t)); [auto | auto |]. apply (rank_at_most_dependent 2); [lia |].
  apply (equal_queries_stay_in_a_plane 3 3 1 3 W_Q W_K W_V W_O equal_queries (delta 0)).
  intros t i Ht. reflexivity.
Qed.
