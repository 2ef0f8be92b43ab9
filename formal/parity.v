(** The parity of n bits needs n heads, whatever their widths: with fewer heads the alternating sum of the logits over
    the cube, with positive weights, is 0. So what is printed of one layer fails for every number of heads. *)

From Coq Require Import Reals List Lra Lia Arith Bool.
From Formal Require Import sums attention additivity accuracy exclusive_or divergence bounds divergence_floor theorem_1
  rank heads_alone.
Import ListNotations.
Open Scope R_scope.

(** ** Products of affine functions of bits *)

Definition affine : Type := (R * list R)%type.
Definition bit (x : bool) : R := if x then 1 else 0.

Fixpoint dot (w : list R) (b : list bool) : R :=
  match w, b with x :: w', y :: b' => x * bit y + dot w' b' | _, _ => 0 end.

Definition value (f : affine) (b : list bool) : R := fst f + dot (snd f) b.
Definition product (fs : list affine) (b : list bool) : R := fold_right (fun f p => value f b * p) 1 fs.

(** The sum over the cube, a context with an odd number of ones with the sign -1. *)
Fixpoint alternating (n : nat) (F : list bool -> R) : R :=
  match n with
  | O => F []
  | S m => alternating m (fun b => F (false :: b)) - alternating m (fun b => F (true :: b))
  end.

Lemma alternating_ext : forall n F G, (forall b, length b = n -> F b = G b) -> alternating n F = alternating n G.
Proof.
  induction n as [| n IH]; intros F G E; simpl; [apply E; reflexivity |].
  f_equal; apply IH; intros b Hb; apply E; simpl; congruence.
Qed.

Lemma alternating_linear : forall n F G a,
  alternating n (fun b => a * F b + G b) = a * alternating n F + alternating n G.
Proof.
  induction n as [| n IH]; intros F G a; simpl; [ring |].
  rewrite (IH (fun b => F (false :: b)) (fun b => G (false :: b))),
    (IH (fun b => F (true :: b)) (fun b => G (true :: b))). ring.
Qed.

Lemma alternating_scale : forall n F a, alternating n (fun b => a * F b) = a * alternating n F.
Proof. induction n as [| n IH]; intros F a; simpl; [ring | rewrite !IH; ring]. Qed.

(** An affine function of n + 1 bits, the first of them given, is one of n bits. *)
Definition given (x : bool) (f : affine) : affine := (fst f + hd 0 (snd f) * bit x, tl (snd f)).

Lemma value_given : forall x f b, value f (x :: b) = value (given x f) b.
Proof. intros x [c [| w ws]] b; unfold value, given; simpl; ring. Qed.

Lemma product_given : forall x fs b, product fs (x :: b) = product (map (given x) fs) b.
Proof. intros x fs b. induction fs as [| f fs IH]; simpl; [reflexivity |]. rewrite IH, value_given. reflexivity. Qed.

Lemma product_app : forall fs gs b, product (fs ++ gs) b = product fs b * product gs b.
Proof. induction fs as [| f fs IH]; intros gs b; simpl; [ring |]. rewrite IH. ring. Qed.

Lemma given_difference : forall f b, value (given false f) b = value (given true f) b - hd 0 (snd f).
Proof. intros f b. unfold value, given. simpl. ring. Qed.

Lemma low_degree_step : forall n, (forall fs, (length fs < n)%nat -> alternating n (product fs) = 0) ->
  forall fs gs, (length gs + length fs <= n)%nat ->
  alternating n (product (gs ++ map (given false) fs)) = alternating n (product (gs ++ map (given true) fs)).
Proof.
  intros n IH fs. induction fs as [| f fs IHfs]; intros gs L; simpl in *; [reflexivity |].
  set (A := gs ++ given true f :: map (given false) fs).
  assert (E1 : alternating n (product (gs ++ given false f :: map (given false) fs)) =
               - hd 0 (snd f) * alternating n (product (gs ++ map (given false) fs)) + alternating n (product A)).
  { rewrite <- alternating_linear. apply alternating_ext. intros b _. unfold A. rewrite !product_app. simpl.
    rewrite given_difference. ring. }
  rewrite E1, (IH (gs ++ map (given false) fs)) by (rewrite app_length, map_length; lia).
  rewrite Rmult_0_r, Rplus_0_l. unfold A.
  change (given true f :: map (given false) fs) with ([given true f] ++ map (given false) fs).
  change (given true f :: map (given true) fs) with ([given true f] ++ map (given true) fs).
  rewrite !app_assoc. apply IHfs. rewrite app_length. simpl. lia.
Qed.

Lemma low_degree : forall n fs, (length fs < n)%nat -> alternating n (product fs) = 0.
Proof.
  induction n as [| n IH]; intros fs L; [lia |]. simpl.
  rewrite (alternating_ext n _ (product (map (given false) fs))) by (intros; apply product_given).
  rewrite (alternating_ext n (fun b => product fs (true :: b)) (product (map (given true) fs)))
    by (intros; apply product_given).
  pose proof (low_degree_step n IH fs [] ltac:(simpl; lia)) as E. simpl in E. rewrite E. ring.
Qed.

(** ** Functions of degree k: their products with fewer than n - k affine functions have the alternating sum 0 *)

Definition of_degree (n k : nat) (F : list bool -> R) : Prop :=
  forall fs, (length fs + k < n)%nat -> alternating n (fun b => F b * product fs b) = 0.

Definition is_affine (n : nat) (F : list bool -> R) : Prop :=
  exists f : affine, forall b, length b = n -> F b = value f b.

Lemma degree_ext : forall n k F G, (forall b, length b = n -> F b = G b) -> of_degree n k F -> of_degree n k G.
Proof.
  intros n k F G E H fs L. rewrite <- (H fs L). apply alternating_ext. intros b Hb.
  rewrite E by assumption. reflexivity.
Qed.

Lemma degree_constant : forall n c, of_degree n 0 (fun _ => c).
Proof. intros n c fs L. rewrite alternating_scale, low_degree by lia. ring. Qed.

Lemma degree_plus : forall n k F G, of_degree n k F -> of_degree n k G -> of_degree n k (fun b => F b + G b).
Proof.
  intros n k F G HF HG fs L.
  rewrite (alternating_ext n _ (fun b => 1 * (F b * product fs b) + G b * product fs b)) by (intros; ring).
  rewrite alternating_linear, (HF fs L), (HG fs L). ring.
Qed.

Lemma degree_times : forall n k F G, is_affine n G -> of_degree n k F -> of_degree n (S k) (fun b => G b * F b).
Proof.
  intros n k F G [f Hf] H fs L. rewrite <- (H (f :: fs)) by (simpl; lia).
  apply alternating_ext. intros b Hb. rewrite Hf by assumption. simpl. ring.
Qed.

(** ** Contexts of n bits and a last token 0 *)

Definition of_bits (b : list bool) : context := map (fun x : bool => if x then 1%nat else 0%nat) b ++ [0%nat].

(** The bits of the number [t], the highest first; the parity of ones; the contexts of [n] bits, by number. *)
Fixpoint bits (n t : nat) : list bool :=
  match n with
  | O => []
  | S m => if lt_dec t (2 ^ m) then false :: bits m t else true :: bits m (t - 2 ^ m)
  end.
Definition odd_ones (b : list bool) : bool := fold_right xorb false b.
Definition parity_context (n t : nat) : context := of_bits (bits n t).
Definition parity_sign (n t : nat) : R := if odd_ones (bits n t) then -1 else 1.

(** The label [i] after an even number of ones, else [j]; and such distributions, [p] or [1 - p] for token 0. *)
Definition parity_label (n i j t : nat) : nat := if odd_ones (bits n t) then j else i.
Definition parity_distribution (n : nat) (p : R) (t : nat) : nat -> R := coin (if odd_ones (bits n t) then 1 - p else p).

Example parity_of_two :
  map (parity_context 2) [0; 1; 2; 3]%nat = [[0; 0; 0]; [0; 1; 0]; [1; 0; 0]; [1; 1; 0]]%nat /\
  map (parity_label 2 0 1) [0; 1; 2; 3]%nat = [0; 1; 1; 0]%nat.
Proof. split; reflexivity. Qed.

Lemma bits_length : forall n t, length (bits n t) = n.
Proof.
  induction n as [| n IH]; intro t; simpl; [reflexivity |].
  destruct (lt_dec t (2 ^ n)); simpl; rewrite IH; reflexivity.
Qed.

Lemma alternating_by_number : forall n F, alternating n F = Sum (2 ^ n) (fun t => parity_sign n t * F (bits n t)).
Proof.
  induction n as [| n IH]; intro F; [unfold parity_sign; simpl; ring |].
  replace (2 ^ S n)%nat with (2 ^ n + 2 ^ n)%nat by (simpl; lia).
  rewrite Sum_split. simpl alternating. rewrite !IH.
  rewrite (Sum_ext _ (fun i => parity_sign (S n) (2 ^ n + i) * F (bits (S n) (2 ^ n + i)))
                     (fun t => -1 * (parity_sign n t * F (true :: bits n t)))).
  - rewrite Sum_scale.
    rewrite (Sum_ext _ (fun i => parity_sign (S n) i * F (bits (S n) i))
                       (fun t => parity_sign n t * F (false :: bits n t))); [ring |].
    intros t Ht. unfold parity_sign. simpl bits. destruct (lt_dec t (2 ^ n)); [| lia].
    simpl. destruct (odd_ones (bits n t)); reflexivity.
  - intros t Ht. unfold parity_sign. simpl bits. destruct (lt_dec (2 ^ n + t) (2 ^ n)); [lia |].
    replace (2 ^ n + t - 2 ^ n)%nat with t by lia. simpl. destruct (odd_ones (bits n t)); simpl; ring.
Qed.

Lemma bits_injective : forall n t u, (t < 2 ^ n)%nat -> (u < 2 ^ n)%nat -> bits n t = bits n u -> t = u.
Proof.
  induction n as [| n IH]; intros t u Ht Hu E; [simpl in *; lia |]. simpl in *.
  destruct (lt_dec t (2 ^ n)), (lt_dec u (2 ^ n)); try discriminate E; injection E as E.
  - apply IH; assumption.
  - apply IH in E; lia.
Qed.

Lemma of_bits_injective : forall b b', of_bits b = of_bits b' -> b = b'.
Proof.
  unfold of_bits. intros b b' E. apply app_inv_tail in E. revert b' E.
  induction b as [| x b IH]; intros [| y b'] E; simpl in E; try discriminate E; [reflexivity |].
  injection E as Hx E. f_equal; [destruct x, y; congruence | apply IH, E].
Qed.

Lemma token_of_bits : forall b s, (token (of_bits b) s < 2)%nat.
Proof.
  unfold token, of_bits. induction b as [| x b IH]; intro s; simpl.
  - destruct s as [| [| s]]; lia.
  - destruct s; [destruct x; lia | apply IH].
Qed.

Lemma last_of_bits : forall b, token (of_bits b) (length b) = 0%nat.
Proof. unfold token, of_bits. induction b as [| x b IH]; simpl; [reflexivity | exact IH]. Qed.

Lemma parity_contexts : forall n, contexts_of 2 (S n) (2 ^ n) (parity_context n).
Proof.
  intro n. split.
  - intros i _. split.
    + unfold parity_context, of_bits. rewrite app_length, map_length, bits_length. simpl. lia.
    + intros s _. apply token_of_bits.
  - intros i j Hi Hj E. apply of_bits_injective in E. apply (bits_injective n); assumption.
Qed.

(** A sum of functions of single positions is affine in the bits. *)
Lemma position_sum_is_affine : forall n (g : nat -> nat -> R),
  is_affine n (fun b => Sum (S n) (fun s => g s (token (of_bits b) s))).
Proof.
  induction n as [| n IH]; intro g.
  - exists (g 0%nat 0%nat, []). intros [| x b] Hb; [unfold value, token; simpl; ring | discriminate Hb].
  - destruct (IH (fun s => g (S s))) as [[c w] H].
    exists (c + g 0%nat 0%nat, (g 0%nat 1%nat - g 0%nat 0%nat) :: w).
    intros [| x b] Hb; [discriminate Hb |]. injection Hb as Hb.
    rewrite Sum_first.
    change (fun i => g (S i) (token (of_bits (x :: b)) (S i))) with (fun i => g (S i) (token (of_bits b) i)).
    rewrite (H b Hb). unfold value, token. simpl. destruct x; simpl; ring.
Qed.

(** ** The logits of H heads *)

Section Heads.

Variables (m : network) (n : nat).
Hypothesis length_of_contexts : n_ctx m = S n.

(** What a head adds to a logit if it sees the vector [x]; it is linear. *)
Definition written (h i : nat) (x : nat -> R) : R :=
  Sum (d_model m) (fun l =>
    Sum (d_head m) (fun j => Sum (d_model m) (fun k => x k * W_V m h k j) * W_O m h j l) * W_U m l i).

Lemma written_linear : forall h i S a (x : nat -> nat -> R),
  written h i (fun k => Sum S (fun s => a s * x s k)) = Sum S (fun s => a s * written h i (x s)).
Proof.
  intros h i S a x. induction S as [| S IH].
  - unfold written. simpl. apply Sum_all_zero. intros l _. rewrite Sum_all_zero; [ring |]. intros j _.
    rewrite Sum_all_zero; [ring |]. intros; ring.
  - simpl Sum at 2. rewrite <- IH. unfold written. rewrite <- Sum_scale, <- Sum_plus. apply Sum_ext. intros l _.
    rewrite <- Rmult_assoc, <- Rmult_plus_distr_r. f_equal. rewrite <- Sum_scale, <- Sum_plus. apply Sum_ext.
    intros j _.
    rewrite <- Rmult_assoc, <- Rmult_plus_distr_r. f_equal. rewrite <- Sum_scale, <- Sum_plus. apply Sum_ext.
    intros k _. simpl. ring.
Qed.

(** The logit of the first [H] heads, and the product of their partition functions. *)
Definition logit_of (H : nat) (t : context) (i : nat) : R :=
  Sum (d_model m) (fun l => skip m t l * W_U m l i) + Sum H (fun h => written h i (mixture m h t)).
Fixpoint partitions (H : nat) (t : context) : R :=
  match H with O => 1 | S h => partition m h t * partitions h t end.

Lemma logit_of_all : forall t i, logit m t i = logit_of (n_heads m) t i.
Proof.
  intros t i. unfold logit, logit_of, stream, written. rewrite Sum_swap, <- Sum_plus. apply Sum_ext. intros l _.
  rewrite Rmult_plus_distr_r, <- Sum_scale_right. reflexivity.
Qed.

Lemma partitions_positive : forall H t, 0 < partitions H t.
Proof.
  induction H as [| H IH]; intro t; simpl; [lra |].
  apply Rmult_lt_0_compat; [apply partition_positive; lia | apply IH].
Qed.

Lemma ends_in_zero : forall b, length b = n -> one_last_token m 1 (fun _ => of_bits b) 0.
Proof. intros b Hb i _. unfold last_position. rewrite length_of_contexts. simpl. rewrite <- Hb. apply last_of_bits. Qed.

Lemma partition_is_affine : forall h, is_affine n (fun b => partition m h (of_bits b)).
Proof.
  intro h. destruct (position_sum_is_affine n (fun s c => exp (Sum (d_qk m) (fun q =>
    Sum (d_model m) (fun i => embedding m (last_position m) 0 i * W_Q m h i q) *
    Sum (d_model m) (fun i => embedding m s c i * W_K m h i q))))) as [f Hf].
  exists f. intros b Hb. rewrite <- (Hf b Hb). unfold partition. rewrite length_of_contexts. apply Sum_ext. intros s _.
  exact (exp_score m 1 0 (fun _ => of_bits b) (ends_in_zero b Hb) h 0 s ltac:(lia)).
Qed.

Lemma numerator_is_affine : forall h i,
  is_affine n (fun b => partition m h (of_bits b) * written h i (mixture m h (of_bits b))).
Proof.
  intros h i. destruct (position_sum_is_affine n (fun s c => exp (Sum (d_qk m) (fun q =>
    Sum (d_model m) (fun i => embedding m (last_position m) 0 i * W_Q m h i q) *
    Sum (d_model m) (fun i => embedding m s c i * W_K m h i q))) * written h i (embedding m s c))) as [f Hf].
  exists f. intros b Hb. rewrite <- (Hf b Hb).
  unfold mixture. rewrite written_linear, <- Sum_scale, length_of_contexts. apply Sum_ext. intros s _.
  pose proof (exp_score m 1 0 (fun _ => of_bits b) (ends_in_zero b Hb) h 0 s ltac:(lia)) as E. simpl in E.
  rewrite <- E, <- Rmult_assoc. apply (f_equal2 Rmult); [| reflexivity].
  unfold attention. field. apply Rgt_not_eq, partition_positive. lia.
Qed.

Lemma logits_of_degree : forall H i,
  of_degree n H (fun b => partitions H (of_bits b)) /\
  of_degree n H (fun b => partitions H (of_bits b) * logit_of H (of_bits b) i).
Proof.
  intros H i. induction H as [| H [IHp IHz]].
  - split; [exact (degree_constant n 1) |].
    apply (degree_ext n 0 (fun _ => Sum (d_model m) (fun l => embedding m (last_position m) 0 l * W_U m l i)));
      [| exact (degree_constant n _)].
    intros b Hb. unfold logit_of. simpl. unfold skip, input. rewrite (ends_in_zero b Hb 0%nat ltac:(lia)). ring.
  - split; [apply (degree_times n H _ _ (partition_is_affine H) IHp) |].
    apply (degree_ext n (S H) (fun b =>
      partition m H (of_bits b) * (partitions H (of_bits b) * logit_of H (of_bits b) i) +
      partition m H (of_bits b) * written H i (mixture m H (of_bits b)) * partitions H (of_bits b))).
    + intros b _. unfold logit_of. simpl. ring.
    + apply degree_plus; apply degree_times;
        [apply partition_is_affine | exact IHz | apply numerator_is_affine | exact IHp].
Qed.

End Heads.

(** Theorem H3 of docs/claims/heads_of_any_width.md, the lower half: with fewer than [n] heads the logits satisfy a
    relation over all [2 ^ n] contexts, of the sign of their parity. *)
(* Answers: the lower half of Theorem H3, dana.theorem-1. *)
Theorem parity_relation_holds_for_all_weights : forall m n, n_ctx m = S n -> (n_heads m < n)%nat ->
  exists D : nat -> R, (forall t, 0 < D t) /\
    Sum (2 ^ n) (fun t => parity_sign n t * D t) = 0 /\
    forall i, Sum (2 ^ n) (fun t => parity_sign n t * D t * logit m (parity_context n t) i) = 0.
Proof.
  intros m n Hn HH. exists (fun t => partitions m (n_heads m) (parity_context n t)).
  split; [intro t; apply (partitions_positive m n Hn) |].
  split; [| intro i]; destruct (logits_of_degree m n Hn (n_heads m) 0) as [Z _];
    [| destruct (logits_of_degree m n Hn (n_heads m) i) as [_ Z']; clear Z; rename Z' into Z];
    specialize (Z [] ltac:(simpl; lia)); rewrite alternating_by_number in Z; rewrite <- Z;
    apply Sum_ext; intros t _; unfold parity_context; [| rewrite logit_of_all]; simpl; ring.
Qed.

Lemma some_sign : forall n, exists t, (t < 2 ^ n)%nat /\ parity_sign n t <> 0.
Proof.
  intro n. exists 0%nat. split; [apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia |].
  unfold parity_sign. destruct (odd_ones (bits n 0)); lra.
Qed.

(** A direction [v] in which the logits after some even context are not above those after some odd one. *)
Lemma parity_pair : forall m n v, n_ctx m = S n -> (n_heads m < n)%nat ->
  exists t u, (t < 2 ^ n)%nat /\ (u < 2 ^ n)%nat /\ odd_ones (bits n t) = false /\ odd_ones (bits n u) = true /\
    forall N, N = d_vocab_out m -> Sum N (fun i => v i * logit m (parity_context n t) i) <=
                                   Sum N (fun i => v i * logit m (parity_context n u) i).
Proof.
  intros m n v Hn HH.
  destruct (parity_relation_holds_for_all_weights m n Hn HH) as [D [HD [Htotal Hlogit]]].
  destruct (hulls_meet (2 ^ n) (parity_sign n) D
    (fun t => Sum (d_vocab_out m) (fun i => v i * logit m (parity_context n t) i)) HD (some_sign n) Htotal)
    as [t [u [Ht [Hu [Hkt [Hku Hle]]]]]].
  { rewrite (Sum_ext (2 ^ n) _ (fun t => Sum (d_vocab_out m)
      (fun i => parity_sign n t * D t * logit m (parity_context n t) i * v i))).
    2: { intros t _. rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
    rewrite Sum_swap. apply Sum_all_zero. intros i _. rewrite Sum_scale_right, Hlogit. ring. }
  exists t, u. unfold parity_sign in Hkt, Hku.
  destruct (odd_ones (bits n t)); [lra |]. destruct (odd_ones (bits n u)); [| lra].
  repeat split; try assumption. intros N ->. exact Hle.
Qed.

(** Fewer than [n] heads do not predict all labels, even if an order of the tokens decides equal logits. *)
(* Answers: Theorem H3. *)
Theorem parity_needs_n_heads : forall m n i j before, n_ctx m = S n -> (n_heads m < n)%nat ->
  i <> j -> ~ (before i j /\ before j i) ->
  ~ forall t, (t < 2 ^ n)%nat -> predicts_by m before (parity_context n t) (parity_label n i j t).
Proof.
  intros m n i j before Hn HH Hij Horder Hall.
  destruct (parity_pair m n (fun l => delta i l - delta j l) Hn HH) as [t [u [Ht [Hu [Et [Eu Hle]]]]]].
  specialize (Hle _ eq_refl).
  pose proof (Hall t Ht) as [Hi Pt]. pose proof (Hall u Hu) as [Hj Pu].
  unfold parity_label in *. rewrite Et in *. rewrite Eu in *.
  assert (V : forall c, Sum (d_vocab_out m) (fun l => (delta i l - delta j l) * logit m c l) =
                        logit m c i - logit m c j).
  { intro c. rewrite (Sum_ext _ _ (fun l => delta i l * logit m c l - delta j l * logit m c l)) by (intros; ring).
    rewrite Sum_minus, !Sum_delta by assumption. reflexivity. }
  rewrite !V in Hle.
  specialize (Pt j Hj ltac:(congruence)). specialize (Pu i Hi ltac:(congruence)).
  destruct Pt as [Pt | [Pt Bt]], Pu as [Pu | [Pu Bu]]; [lra | lra | lra | tauto].
Qed.

(** So the accuracy is at most 1 - 2^(-n). *)
(* Answers: dana.corollary-2. *)
Theorem parity_accuracy_below_one : forall m n i j, n_ctx m = S n -> (n_heads m < n)%nat -> i <> j ->
  accuracy m (2 ^ n) (parity_context n) (parity_label n i j) <= 1 - / 2 ^ n.
Proof.
  intros m n i j Hn HH Hij. unfold accuracy.
  set (f := fun t => hit m (parity_context n t) (parity_label n i j t)).
  change (Sum (2 ^ n) f / INR (2 ^ n) <= 1 - / 2 ^ n).
  assert (E : INR (2 ^ n) = 2 ^ n) by (rewrite pow_INR; reflexivity).
  assert (P : 0 < 2 ^ n) by (apply pow_lt; lra).
  assert (Hf : forall t, 0 <= 1 - f t).
  { intro t. pose proof (hit_range m (parity_context n t) (parity_label n i j t)). unfold f. lra. }
  assert (Hwrong : exists t, (t < 2 ^ n)%nat /\ f t = 0).
  { destruct (largest (2 ^ n) (fun _ => True) (fun t => - f t)) as [t [Ht [_ Hmax]]].
    { exists 0%nat. split; [apply Nat.neq_0_lt_0, Nat.pow_nonzero; lia | exact I]. }
    exists t. split; [assumption |]. unfold f, hit in *.
    destruct (predicts_dec m (parity_context n t) (parity_label n i j t)) as [_ | _]; [| reflexivity].
    exfalso. apply (parity_needs_n_heads m n i j (fun _ _ => False) Hn HH Hij); [tauto |].
    intros u Hu. specialize (Hmax u Hu I). simpl in Hmax. apply predicts_strictly_by.
    destruct (predicts_dec m (parity_context n u) (parity_label n i j u)); [assumption | lra]. }
  destruct Hwrong as [t [Ht Hzero]].
  assert (1 <= Sum (2 ^ n) (fun t => 1 - f t)).
  { apply Rle_trans with (1 - f t); [lra |]. apply (Sum_term_le (2 ^ n) (fun t => 1 - f t)); auto. }
  rewrite Sum_minus, Sum_constant, E in H. rewrite E.
  apply (Rmult_le_reg_r (2 ^ n)); [assumption |]. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_minus_distr_r, Rinv_l by lra. lra.
Qed.

(** Any number of heads, of some widths, holds all labels. (Dana, 2024, slides: "No memorization limit in term of
    quantity", without an object; this is one that can be meant.) *)
Definition every_number_of_heads_holds_all_labels : Prop :=
  forall N S H T ts labels, (1 <= H)%nat -> contexts_of N S T ts -> labels_of N T labels ->
    exists m, n_ctx m = S /\ d_vocab_out m = N /\ n_heads m = H /\
      forall i, (i < T)%nat -> predicts m (ts i) (labels i).

(** Heads of some widths do not hold all labels: two bits, one head. *)
(* Answers: what slides.quality can mean. *)
Theorem some_labels_need_more_heads : ~ every_number_of_heads_holds_all_labels.
Proof.
  intro P. destruct (P 2%nat 3%nat 1%nat (2 ^ 2)%nat (parity_context 2) (parity_label 2 0 1)) as [m [Hn [_ [HH Hall]]]].
  - lia.
  - apply parity_contexts.
  - intros t _. unfold parity_label. destruct (odd_ones (bits 2 t)); lia.
  - apply (parity_needs_n_heads m 2 0 1 (fun _ _ => False) Hn ltac:(lia) ltac:(lia) ltac:(tauto)).
    intros t Ht. apply predicts_strictly_by, Hall, Ht.
Qed.

(** Corollary 2 promises the accuracy 1 where heads count all contexts. With n = H + 1 bits it fails for every [H]. *)
(* Answers: dana.corollary-2. *)
Theorem corollary_2_fails_for_every_number_of_heads : forall H d d_h, (H * d_h + d)%nat = (2 ^ S H)%nat ->
  printed_accuracy 2 d d_h H (2 ^ S H) = 1 /\
  forall m, sizes m 2 (S (S H)) d d_h H ->
    accuracy m (2 ^ S H) (parity_context (S H)) (parity_label (S H) 0 1) <= 1 - / 2 ^ S H.
Proof.
  intros H d d_h E. split.
  - unfold printed_accuracy. rewrite E. replace (INR 2) with 2 by (simpl; ring). field.
    apply not_0_INR, Nat.pow_nonzero. lia.
  - intros m [_ [Hctx [_ [_ Hheads]]]]. apply parity_accuracy_below_one; [assumption | lia | lia].
Qed.

(** ** The divergence *)

(** Fewer than [n] heads have a mean divergence of at least 2 (log 2 - h(p)) / 2^n on the parity of n bits. *)
(* Answers: dana.theorem-1, (3) of docs/claims/heads_of_any_width.md with E >= 1. *)
Theorem parity_divergence_floor : forall m n p, n_ctx m = S n -> (n_heads m < n)%nat -> d_vocab_out m = 2%nat ->
  0 <= p <= 1 ->
  2 * (ln 2 - binary_entropy p) / 2 ^ n <=
    mean_divergence m (2 ^ n) (parity_context n) (fun _ => / 2 ^ n) (parity_distribution n p).
Proof.
  intros m n p Hn HH two Hp.
  assert (P : 0 < 2 ^ n) by (apply pow_lt; lra).
  assert (P' : 0 < / 2 ^ n) by (apply Rinv_0_lt_compat, P).
  assert (Hlaw : forall t, distribution 2 (parity_distribution n p t)).
  { intro t. unfold parity_distribution. destruct (odd_ones (bits n t)); apply coin_distribution; lra. }
  pose (s := if Rle_dec (1 / 2) p then 1 else -1).
  assert (Hs : s = 1 /\ 1 / 2 <= p \/ s = -1 /\ p < 1 / 2).
  { unfold s. destruct (Rle_dec (1 / 2) p); [left | right]; split; lra. }
  set (v := fun i : nat => match i with 0%nat => s | _ => - s end).
  destruct (parity_pair m n v Hn HH) as [t [u [Ht [Hu [Et [Eu Hle]]]]]]. specialize (Hle _ eq_refl).
  assert (Htu : t <> u) by congruence.
  pose proof (pair_floor m (2 ^ n) (parity_context n) (fun _ => / 2 ^ n) (parity_distribution n p) t u v
    (s * (p - 1 / 2) * / 2 ^ n) Ht Hu Htu ltac:(intros; exact P') ltac:(intros; rewrite two; apply Hlaw) Hle) as F.
  cbv zeta in F. rewrite two in F.
  assert (Lt : parity_distribution n p t = coin p) by (unfold parity_distribution; rewrite Et; reflexivity).
  assert (Lu : parity_distribution n p u = coin (1 - p)) by (unfold parity_distribution; rewrite Eu; reflexivity).
  rewrite Lt, Lu in F.
  assert (Qt : forall i, (i < 2)%nat -> coin (1 / 2) i = coin p i - s * (p - 1 / 2) * / 2 ^ n * v i / / 2 ^ n).
  { intros i Hi. unfold v. destruct Hs as [[-> _] | [-> _]]; destruct i as [| i]; simpl; field; lra. }
  assert (Qu : forall i, (i < 2)%nat -> coin (1 / 2) i = coin (1 - p) i + s * (p - 1 / 2) * / 2 ^ n * v i / / 2 ^ n).
  { intros i Hi. unfold v. destruct Hs as [[-> _] | [-> _]]; destruct i as [| i]; simpl; field; lra. }
  specialize (F ltac:(apply Rmult_le_pos; [destruct Hs as [[-> Hs] | [-> Hs]]; lra | lra])
    (distribution_ext _ _ _ Qt (coin_distribution (1 / 2) ltac:(lra))) (distribution_ext _ _ _ Qu (coin_distribution (1 / 2) ltac:(lra)))).
  rewrite <- (entropy_ext _ _ _ Qt), <- (entropy_ext _ _ _ Qu), !coin_entropy in F.
  rewrite binary_entropy_sym, half_entropy in F. unfold Rdiv. lra.
Qed.

(** Theorem 1 fails for every number of heads: N = 2, S = H + 2, any widths that count all contexts; p = 0.99. *)
(* Answers: dana.theorem-1, (3) of docs/claims/heads_of_any_width.md with E >= 1. *)
Theorem theorem_1_fails_for_every_number_of_heads : forall H d d_h, (1 <= d)%nat -> (2 ^ S H <= H * d_h + d)%nat ->
  let n := S H in
  exists p, (forall t, distribution 2 (p t) /\ forall i, (i < 2)%nat -> 0 < p t i) /\
    exists E W, encoder_divergence 2 d (2 ^ n) (fun _ => / 2 ^ n) p E W = 0 /\
    forall m, sizes m 2 (S n) d d_h H ->
      1274 / 1000 / 2 ^ n < mean_divergence m (2 ^ n) (parity_context n) (fun _ => / 2 ^ n) p.
Proof.
  intros H d d_h Hd Hcount n. exists (parity_distribution n (99 / 100)).
  assert (Hlaw : forall t, distribution 2 (parity_distribution n (99 / 100) t) /\
                           forall i, (i < 2)%nat -> 0 < parity_distribution n (99 / 100) t i).
  { intro t. unfold parity_distribution.
    destruct (odd_ones (bits n t)); (split; [apply coin_distribution; lra | intros [| i] _; simpl; lra]). }
  split; [assumption |].
  exists (fun t i => if Nat.eq_dec i 0 then ln (parity_distribution n (99 / 100) t 0) - ln (parity_distribution n (99 / 100) t 1) else 0),
    delta. split.
  - etransitivity; [| exact (encoder_of_all_distributions 1 (2 ^ n) (fun _ => / 2 ^ n) _ (fun t _ => Hlaw t))].
    unfold encoder_divergence. apply Sum_ext. intros t _. f_equal. apply divergence_ext. intros i _.
    replace d with (1 + (d - 1))%nat by lia. rewrite Sum_split, (Sum_all_zero (d - 1)); [apply Rplus_0_r |].
    intros k _. destruct (Nat.eq_dec (1 + k) 0); [lia | ring].
  - intros m [Hout [Hctx [_ [_ Hheads]]]].
    apply Rlt_le_trans with (2 * (ln 2 - binary_entropy (99 / 100)) / 2 ^ n).
    + pose proof floor_at_ninety_nine. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat, pow_lt |]; lra.
    + apply parity_divergence_floor; [assumption | lia | assumption | lra].
Qed.

(** ** Lemma 2: heads alone have rank H (N + S - 1) at most, which is less than the number of contexts. *)
Lemma power_exceeds : forall H, (H * (H + 6) < 2 ^ (H + 4))%nat.
Proof.
  induction H as [| H IH]; [simpl; lia |].
  replace (2 ^ (S H + 4))%nat with (2 * 2 ^ (H + 4))%nat by reflexivity.
  assert (2 * H + 7 <= 2 ^ (H + 4))%nat.
  { clear IH. induction H as [| H IH]; [simpl; lia |].
    replace (2 ^ (S H + 4))%nat with (2 * 2 ^ (H + 4))%nat by reflexivity. lia. }
  nia.
Qed.

(** Every H >= 1 and d > H + 6: no weights reach the printed rank on 2^(H+4) contexts of H + 5 tokens. *)
(* Answers: dana.lemma-2. *)
Theorem lemma_2_fails_for_every_number_of_heads : forall H d, (1 <= H)%nat -> (H + 6 < d)%nat ->
  ~ printed_rank_reached (H + 5) d H (2 ^ (H + 4)) (parity_context (H + 4)).
Proof.
  intros H d HH Hd [m [Hctx [Hwidth [Hheads Hrank]]]]. apply Hrank.
  apply rank_at_most_more with (n_heads m * (2 + (H + 5) - 1))%nat.
  - rewrite Hheads. pose proof (power_exceeds H). nia.
  - apply wide_output_rank; [assumption | | lia | lia].
    replace (H + 5)%nat with (S (H + 4)) by lia. apply parity_contexts.
Qed.
