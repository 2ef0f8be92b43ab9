(** Floors of the divergence that no weights of one head go below, on contexts whose indicators are linearly
    dependent. *)

From Coq Require Import Reals List Lra Lia Arith ZArith Classical.
From Formal Require Import sums attention additivity accuracy exclusive_or divergence bounds.
Import ListNotations.
Open Scope R_scope.

(** The mean over the first [T] contexts, of probabilities [prior], of the divergence of the distributions [p] from a
    network's. *)
Definition mean_divergence (m : network) (T : nat) (ts : nat -> context) (prior : nat -> R) (p : nat -> nat -> R) : R :=
  Sum T (fun i => prior i * divergence (d_vocab_out m) (p i) (softmax (d_vocab_out m) (logit m (ts i)))).

(** Of finitely many numbers with a property one is the largest. *)
Lemma largest : forall T (P : nat -> Prop) (g : nat -> R), (exists i, (i < T)%nat /\ P i) ->
  exists j, (j < T)%nat /\ P j /\ forall i, (i < T)%nat -> P i -> g i <= g j.
Proof.
  induction T as [| T IH]; intros P g [i [Hi HP]]; [lia |].
  destruct (classic (exists i, (i < T)%nat /\ P i)) as [E | E].
  - destruct (IH P g E) as [j [Hj [HPj Hmax]]].
    destruct (classic (P T /\ g j < g T)) as [[HT Hg] | H].
    + exists T. split; [lia |]. split; [assumption |]. intros l Hl HPl.
      destruct (Nat.eq_dec l T) as [-> | Hne]; [lra |]. specialize (Hmax l ltac:(lia) HPl). lra.
    + exists j. split; [lia |]. split; [assumption |]. intros l Hl HPl.
      destruct (Nat.eq_dec l T) as [-> | Hne]; [| apply Hmax; [lia | assumption]].
      destruct (Rle_or_lt (g T) (g j)) as [L | L]; [assumption | tauto].
  - assert (i = T) by (destruct (Nat.eq_dec i T); [assumption | exfalso; apply E; exists i; split; [lia | assumption]]).
    subst i. exists T. split; [lia |]. split; [assumption |]. intros l Hl HPl.
    destruct (Nat.eq_dec l T) as [-> | Hne]; [lra |]. exfalso. apply E. exists l. split; [lia | assumption].
Qed.

(** If positive multiples of [k] annihilate 1 and [g], some [g] with a positive coefficient is not above some with a
    negative one. *)
Lemma hulls_meet : forall T (k D g : nat -> R), (forall i, 0 < D i) -> (exists i, (i < T)%nat /\ k i <> 0) ->
  Sum T (fun i => k i * D i) = 0 -> Sum T (fun i => k i * D i * g i) = 0 ->
  exists i j, (i < T)%nat /\ (j < T)%nat /\ 0 < k i /\ k j < 0 /\ g i <= g j.
Proof.
  intros T k D g HD [e [He Hk]] H1 Hg.
  assert (Hnegative : exists j, (j < T)%nat /\ k j < 0).
  { apply NNPP. intro A.
    assert (P : forall i, (i < T)%nat -> 0 <= k i * D i).
    { intros i Hi. apply Rmult_le_pos; [| left; apply HD].
      destruct (Rle_or_lt 0 (k i)); [assumption | exfalso; apply A; exists i; auto]. }
    assert (0 < k e * D e).
    { specialize (P e He). specialize (HD e).
      destruct (Rle_or_lt (k e * D e) 0) as [L | L]; [| assumption].
      assert (Z : k e * D e = 0) by lra. apply Rmult_integral in Z. lra. }
    pose proof (Sum_positive_one T _ e He H P). simpl in *. lra. }
  destruct (largest T (fun j => k j < 0) g Hnegative) as [j [Hj [Hkj Hmax]]].
  destruct (classic (exists i, (i < T)%nat /\ 0 < k i /\ g i <= g j)) as [[i [Hi [Hki Hle]]] | Hnone].
  - exists i, j. auto.
  - exfalso.
    assert (Z : Sum T (fun i => k i * D i * (g i - g j)) = 0).
    { rewrite (Sum_ext T _ (fun i => k i * D i * g i - k i * D i * g j)) by (intros; ring).
      rewrite Sum_minus, Sum_scale_right, Hg, H1. ring. }
    assert (P : forall i, (i < T)%nat -> 0 <= k i * D i * (g i - g j)).
    { intros i Hi. rewrite (Rmult_comm (k i)), Rmult_assoc. apply Rmult_le_pos; [left; apply HD |].
      destruct (Rtotal_order (k i) 0) as [L | [L | L]].
      - specialize (Hmax i Hi L). replace (k i * (g i - g j)) with (- k i * (g j - g i)) by ring.
        apply Rmult_le_pos; lra.
      - rewrite L. lra.
      - apply Rmult_le_pos; [lra |]. destruct (Rle_or_lt (g i) (g j)) as [Q | Q]; [| lra].
        exfalso. apply Hnone. exists i. auto. }
    assert (Hpositive : exists i, (i < T)%nat /\ 0 < k i).
    { apply NNPP. intro A.
      assert (Q : forall i, (i < T)%nat -> 0 <= - (k i * D i)).
      { intros i Hi. specialize (HD i). destruct (Rle_or_lt (k i) 0) as [L | L].
        - replace (- (k i * D i)) with (- k i * D i) by ring. apply Rmult_le_pos; lra.
        - exfalso. apply A. exists i. auto. }
      assert (S1 : Sum T (fun i => - (k i * D i)) = 0).
      { rewrite (Sum_ext T _ (fun i => -1 * (k i * D i))) by (intros; ring). rewrite Sum_scale, H1. ring. }
      assert (0 < - (k j * D j)).
      { specialize (HD j). replace (- (k j * D j)) with (- k j * D j) by ring. apply Rmult_lt_0_compat; lra. }
      pose proof (Sum_positive_one T _ j Hj H Q). simpl in *. lra. }
    destruct Hpositive as [i [Hi Hki]].
    assert (0 < k i * D i * (g i - g j)).
    { apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [assumption | apply HD] |].
      destruct (Rle_or_lt (g i) (g j)) as [Q | Q]; [| lra]. exfalso. apply Hnone. exists i. auto. }
    pose proof (Sum_positive_one T _ i Hi H P). simpl in *. lra.
Qed.

(** The mean divergence is at least that of two contexts, and these are bounded by distributions that are moved towards
    each other along [v], if their logits are in the wrong order along [v]. *)
Lemma pair_floor : forall m T ts prior p i j v mu, (i < T)%nat -> (j < T)%nat -> i <> j ->
  (forall l, (l < T)%nat -> 0 < prior l) -> (forall l, (l < T)%nat -> distribution (d_vocab_out m) (p l)) ->
  Sum (d_vocab_out m) (fun n => v n * logit m (ts i) n) <= Sum (d_vocab_out m) (fun n => v n * logit m (ts j) n) ->
  0 <= mu ->
  let q_i n := p i n - mu * v n / prior i in
  let q_j n := p j n + mu * v n / prior j in
  distribution (d_vocab_out m) q_i -> distribution (d_vocab_out m) q_j ->
  prior i * (entropy (d_vocab_out m) q_i - entropy (d_vocab_out m) (p i)) +
  prior j * (entropy (d_vocab_out m) q_j - entropy (d_vocab_out m) (p j)) <= mean_divergence m T ts prior p.
Proof.
  intros m T ts prior p i j v mu Hi Hj Hij Hprior Hp Hv Hmu q_i q_j Hqi Hqj.
  set (N := d_vocab_out m) in *.
  set (f := fun l => prior l * divergence N (p l) (softmax N (logit m (ts l)))).
  assert (Hf : forall l, (l < T)%nat -> 0 <= f l).
  { intros l Hl. apply Rmult_le_pos; [left; apply Hprior, Hl |]. pose proof (distribution_dimension N _ (Hp l Hl)).
    apply divergence_nonnegative;
      [apply Hp, Hl | intros; apply softmax_positive; assumption | apply softmax_distribution; assumption]. }
  apply Rle_trans with (f i + f j); [| apply (Sum_two_terms_le T f); assumption].
  pose proof (Hprior i Hi) as Pi. pose proof (Hprior j Hj) as Pj.
  pose proof (divergence_duality N (p i) q_i (logit m (ts i)) (Hp i Hi) Hqi) as Bi.
  pose proof (divergence_duality N (p j) q_j (logit m (ts j)) (Hp j Hj) Hqj) as Bj.
  assert (Ei : Sum N (fun n => (q_i n - p i n) * logit m (ts i) n) =
               - (mu / prior i) * Sum N (fun n => v n * logit m (ts i) n)).
  { rewrite <- Sum_scale. apply Sum_ext. intros n _. unfold q_i. field. lra. }
  assert (Ej : Sum N (fun n => (q_j n - p j n) * logit m (ts j) n) =
               mu / prior j * Sum N (fun n => v n * logit m (ts j) n)).
  { rewrite <- Sum_scale. apply Sum_ext. intros n _. unfold q_j. field. lra. }
  rewrite Ei in Bi. rewrite Ej in Bj. unfold f.
  set (gi := Sum N (fun n => v n * logit m (ts i) n)) in *. set (gj := Sum N (fun n => v n * logit m (ts j) n)) in *.
  apply (Rmult_le_compat_l (prior i)) in Bi; [| lra]. apply (Rmult_le_compat_l (prior j)) in Bj; [| lra].
  rewrite Rmult_plus_distr_l in Bi, Bj.
  replace (prior i * (- (mu / prior i) * gi)) with (- mu * gi) in Bi by (field; lra).
  replace (prior j * (mu / prior j * gj)) with (mu * gj) in Bj by (field; lra).
  assert (mu * gi <= mu * gj) by (apply Rmult_le_compat_l; assumption). lra.
Qed.

(** The floor for one head (Theorem O1 of docs/claims/theorem_1.md). Contexts with one last token and a relation [k]
    among their indicators; any direction [v] in the logits. Some pair i, j with k_i > 0 > k_j bounds the mean
    divergence of all weights, by any amount [mu] of mass that leaves distributions. *)
(* Answers: Theorem O1, (2) of docs/claims/theorem_1.md, dana.theorem-1. *)
Theorem one_head_floor : forall m T c k ts prior p v, (0 < n_ctx m)%nat -> n_heads m = 1%nat ->
  one_last_token m T ts c -> indicator_relation (n_ctx m) T k ts -> (exists i, (i < T)%nat /\ k i <> 0) ->
  (forall i, (i < T)%nat -> 0 < prior i) -> (forall i, (i < T)%nat -> distribution (d_vocab_out m) (p i)) ->
  exists i j, (i < T)%nat /\ (j < T)%nat /\ 0 < k i /\ k j < 0 /\ forall mu, 0 <= mu ->
    let q_i n := p i n - mu * v n / prior i in
    let q_j n := p j n + mu * v n / prior j in
    distribution (d_vocab_out m) q_i -> distribution (d_vocab_out m) q_j ->
    prior i * (entropy (d_vocab_out m) q_i - entropy (d_vocab_out m) (p i)) +
    prior j * (entropy (d_vocab_out m) q_j - entropy (d_vocab_out m) (p j)) <= mean_divergence m T ts prior p.
Proof.
  intros m T c k ts prior p v Hpos one Hends Hrel Hk Hprior Hp.
  destruct (indicator_relation_holds_for_all_weights m T c k ts Hpos Hends Hrel 0)
    as [D [HD [Htotal [_ [_ Hlogit]]]]].
  destruct (hulls_meet T k D (fun i => Sum (d_vocab_out m) (fun n => v n * logit m (ts i) n)) HD Hk Htotal)
    as [i [j [Hi [Hj [Hki [Hkj Hle]]]]]].
  { rewrite (Sum_ext T _ (fun i => Sum (d_vocab_out m) (fun n => k i * D i * logit m (ts i) n * v n))).
    2: { intros i _. rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
    rewrite Sum_swap. apply Sum_all_zero. intros n _. rewrite Sum_scale_right, (Hlogit one eq_refl). ring. }
  exists i, j. repeat split; try assumption. intros mu Hmu q_i q_j Hqi Hqj.
  apply (pair_floor m T ts prior p i j v mu); try assumption. intros ->. lra.
Qed.

(** ** Exclusive or *)

(** The distribution that gives [p] to token 0 and [1 - p] to token 1, and its entropy. *)
Definition coin (p : R) (n : nat) : R := match n with 0%nat => p | _ => 1 - p end.
Definition binary_entropy (p : R) : R := - p * ln p - (1 - p) * ln (1 - p).

(** After 000 and 110 the token 0 has the probability [p], after 010 and 100 it has [1 - p]. *)
Definition exclusive_or_distribution (p : R) (t : nat) : nat -> R := coin (match t with 0%nat | 1%nat => p | _ => 1 - p end).

Lemma coin_distribution : forall p, 0 <= p <= 1 -> distribution 2 (coin p).
Proof. intros p H. split; [intros [| n] _; simpl; lra | simpl; ring]. Qed.

Lemma coin_entropy : forall p, entropy 2 (coin p) = binary_entropy p.
Proof. intro p. unfold entropy, binary_entropy. simpl. ring. Qed.

Lemma binary_entropy_sym : forall p, binary_entropy (1 - p) = binary_entropy p.
Proof. intro p. unfold binary_entropy. replace (1 - (1 - p)) with p by ring. ring. Qed.

Lemma entropy_ext : forall N p q, (forall n, (n < N)%nat -> p n = q n) -> entropy N p = entropy N q.
Proof. intros N p q H. unfold entropy. f_equal. apply Sum_ext. intros n Hn. rewrite H by assumption. reflexivity. Qed.

Lemma distribution_ext : forall N p q, (forall n, (n < N)%nat -> p n = q n) -> distribution N p -> distribution N q.
Proof.
  intros N p q H [Hp Ht]. split.
  - intros n Hn. rewrite <- H by assumption. apply Hp, Hn.
  - rewrite <- Ht. apply Sum_ext. intros n Hn. symmetry. apply H, Hn.
Qed.

Lemma half_entropy : binary_entropy (1 / 2) = ln 2.
Proof.
  unfold binary_entropy. replace (1 - 1 / 2) with (1 / 2) by field.
  replace (ln (1 / 2)) with (- ln 2) by (rewrite <- ln_Rinv by lra; f_equal; field). field.
Qed.

(** One head, two output tokens: for all weights, all widths and all lengths from 3 on the mean divergence is at least
    (log 2 - h(p)) / 2. *)
(* Answers: Theorem O1, (2) of docs/claims/theorem_1.md, dana.theorem-1. *)
Theorem exclusive_or_divergence_floor : forall m p, (3 <= n_ctx m)%nat -> n_heads m = 1%nat ->
  d_vocab_out m = 2%nat -> 0 <= p <= 1 ->
  (ln 2 - binary_entropy p) / 2 <=
    mean_divergence m 4 (exclusive_or (n_ctx m)) (fun _ => 1 / 4) (exclusive_or_distribution p).
Proof.
  intros m p H one two Hp.
  assert (Hlaw : forall t, distribution 2 (exclusive_or_distribution p t)) by (intros [| [| t]]; apply coin_distribution; lra).
  pose (s := if Rle_dec (1 / 2) p then 1 else -1).
  assert (Hs : s = 1 /\ 1 / 2 <= p \/ s = -1 /\ p < 1 / 2).
  { unfold s. destruct (Rle_dec (1 / 2) p); [left | right]; split; lra. }
  destruct (one_head_floor m 4 0 exclusive_or_sign (exclusive_or (n_ctx m)) (fun _ => 1 / 4) (exclusive_or_distribution p)
              (fun n => match n with 0%nat => s | _ => - s end) ltac:(lia) one
              (exclusive_or_last m H) (exclusive_or_relation _))
    as [i [j [Hi [Hj [Hki [Hkj Hfloor]]]]]].
  { exists 0%nat. split; [lia |]. unfold exclusive_or_sign. lra. }
  { intros; lra. }
  { intros t _. rewrite two. apply Hlaw. }
  rewrite two in Hfloor.
  assert (Ei : exclusive_or_distribution p i = coin p).
  { destruct i as [| [| i]]; [reflexivity | reflexivity | unfold exclusive_or_sign in Hki; lra]. }
  assert (Ej : exclusive_or_distribution p j = coin (1 - p)).
  { destruct j as [| [| j]]; [unfold exclusive_or_sign in Hkj; lra .. | reflexivity]. }
  rewrite Ei, Ej in Hfloor.
  specialize (Hfloor (s * (p - 1 / 2) / 4) ltac:(destruct Hs as [[-> Hs] | [-> Hs]]; lra)). cbv zeta in Hfloor.
  assert (Qi : forall n, (n < 2)%nat -> coin (1 / 2) n =
    coin p n - s * (p - 1 / 2) / 4 * (match n with 0%nat => s | _ => - s end) / (1 / 4)).
  { intros n Hn. destruct Hs as [[-> _] | [-> _]]; destruct n as [| n]; simpl; field. }
  assert (Qj : forall n, (n < 2)%nat -> coin (1 / 2) n =
    coin (1 - p) n + s * (p - 1 / 2) / 4 * (match n with 0%nat => s | _ => - s end) / (1 / 4)).
  { intros n Hn. destruct Hs as [[-> _] | [-> _]]; destruct n as [| n]; simpl; field. }
  specialize (Hfloor (distribution_ext _ _ _ Qi (coin_distribution (1 / 2) ltac:(lra))) (distribution_ext _ _ _ Qj (coin_distribution (1 / 2) ltac:(lra)))).
  rewrite <- (entropy_ext _ _ _ Qi), <- (entropy_ext _ _ _ Qj), !coin_entropy in Hfloor.
  rewrite binary_entropy_sym, half_entropy in Hfloor.
  lra.
Qed.

(** At p = 0.99 the floor is above 0.3185 nats. *)
Lemma floor_at_ninety_nine : 637 / 1000 < ln 2 - binary_entropy (99 / 100).
Proof.
  pose proof ln_two_lower as L2. pose proof ln_five_upper as L5.
  pose proof (ln_ge_one_minus_inverse (99 / 100) ltac:(lra)) as L99.
  replace (1 - / (99 / 100)) with (- (1 / 99)) in L99 by field.
  unfold binary_entropy. replace (1 - 99 / 100) with (/ (2 * 2 * (5 * 5))) by field.
  rewrite ln_Rinv, !ln_mult by lra. lra.
Qed.

(** For p = 0.99 the floor is more than 0.3185. *)
(* Answers: Theorem O1, (2) of docs/claims/theorem_1.md, dana.theorem-1. *)
Theorem exclusive_or_divergence_at_ninety_nine_percent : forall m, (3 <= n_ctx m)%nat -> n_heads m = 1%nat ->
  d_vocab_out m = 2%nat ->
  3185 / 10000 < mean_divergence m 4 (exclusive_or (n_ctx m)) (fun _ => 1 / 4) (exclusive_or_distribution (99 / 100)).
Proof.
  intros m H one two. pose proof floor_at_ninety_nine.
  pose proof (exclusive_or_divergence_floor m (99 / 100) H one two ltac:(lra)). lra.
Qed.
