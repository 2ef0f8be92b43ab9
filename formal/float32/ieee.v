(** The relations of semantics.v contain IEEE 754: Flocq's addition, subtraction, multiplication, fused multiply-add and
    division, in each of the five rounding modes, are [add], [sub], [mul], [fma] and [div]; so are roundings into a longer
    format, and exact results. And they contain programs: two loops as they are written are runs. *)

From Coq Require Import Reals ZArith Lra Lia List Permutation.
From Flocq Require Import Core IEEE754.BinarySingleNaN.
From Float32 Require Import semantics.
Import ListNotations.
Open Scope R_scope.

Section Format.

Variable prec emax : Z.
Context (prec_pos : Prec_gt_0 prec) (prec_emax : Prec_lt_emax prec emax).
Hypothesis emax_safe : (SpecFloat.emin prec emax + prec <= emax - 1)%Z. (* 2^safe is held *)

(** The format of these numbers. *)
Definition format_of : format := Format prec (SpecFloat.emin prec emax) (emax - 1).
Notation float := (binary_float prec emax).
Notation value x := (if is_finite (x : float) then Some (B2R x) else None : num).
Notation rounded m x := (round radix2 (SpecFloat.fexp prec emax) (round_mode m) x).

Lemma round_between : forall m x g, held format_of g -> (g <= x -> g <= rounded m x) /\ (x <= g -> rounded m x <= g).
Proof.
  intros m x g G. assert (V : Valid_exp (SpecFloat.fexp prec emax)) by (apply fexp_correct; exact prec_pos).
  assert (G' : generic_format radix2 (SpecFloat.fexp prec emax) g) by exact G.
  split; intro L; [apply round_ge_generic | apply round_le_generic]; try assumption; destruct m; simpl; auto with typeclass_instances.
Qed.

(** What IEEE 754 returns below 2^(emax - 1) does not overflow. *)
Lemma no_overflow : forall m x, Rabs x < bpow radix2 (emax - 1) -> Rlt_bool (Rabs (rounded m x)) (bpow radix2 emax) = true.
Proof.
  intros m x Hx. apply Rlt_bool_true. apply Rle_lt_trans with (bpow radix2 (emax - 1)); [| apply bpow_lt; lia].
  apply abs_round_le_generic.
  - apply fexp_correct. exact prec_pos.
  - destruct m; simpl; auto with typeclass_instances.
  - apply generic_format_bpow. change (SpecFloat.fexp prec emax) with (FLT_exp (SpecFloat.emin prec emax) prec). unfold FLT_exp.
    unfold Prec_gt_0 in prec_pos. lia.
  - lra.
Qed.

Lemma rounds_ieee : forall m x (z : float),
  (Rlt_bool (Rabs (rounded m x)) (bpow radix2 emax) = true -> B2R z = rounded m x /\ is_finite z = true) ->
  rounds format_of x (value z).
Proof.
  intros m x z H Hx. destruct (H (no_overflow m x Hx)) as (E & ->). exists (B2R z). split; [reflexivity |].
  left. rewrite E. intros g G. apply round_between, G.
Qed.

Ltac finite_operands := intros; repeat match goal with |- context [is_finite ?x] => is_var x; destruct (is_finite x) eqn:? end; try exact I.

Theorem ieee_add : forall m (x y : float), add format_of (value x) (value y) (value (Bplus m x y)).
Proof.
  finite_operands. simpl. apply rounds_ieee with m. intro B.
  generalize (Bplus_correct prec emax _ _ m x y ltac:(assumption) ltac:(assumption)). rewrite B. tauto.
Qed.

Theorem ieee_sub : forall m (x y : float), sub format_of (value x) (value y) (value (Bminus m x y)).
Proof.
  finite_operands. simpl. apply rounds_ieee with m. intro B.
  generalize (Bminus_correct prec emax _ _ m x y ltac:(assumption) ltac:(assumption)). rewrite B. tauto.
Qed.

Theorem ieee_mul : forall m (x y : float), mul format_of (value x) (value y) (value (Bmult m x y)).
Proof.
  finite_operands. simpl. apply rounds_ieee with m. intro B.
  generalize (Bmult_correct prec emax _ _ m x y). rewrite B. intros (E & F & _). split; [exact E |].
  rewrite F. apply andb_true_intro. split; assumption.
Qed.

Theorem ieee_fma : forall m (x y c : float), fma format_of (value x) (value y) (value c) (value (Bfma m x y c)).
Proof.
  finite_operands. simpl. apply rounds_ieee with m. intro B.
  generalize (Bfma_correct prec emax _ _ m x y c ltac:(assumption) ltac:(assumption) ltac:(assumption)). cbv zeta. rewrite B. tauto.
Qed.

Theorem ieee_div : forall m (x y : float), div format_of (value x) (value y) (value (Bdiv m x y)).
Proof.
  finite_operands. simpl. intro Y. apply rounds_ieee with m. intro B.
  generalize (Bdiv_correct prec emax _ _ m x y Y). rewrite B. intros (E & F & _). split; [exact E | congruence].
Qed.

(** *** Two loops as programs write them *)

Definition pair_of (x : float * float) : num * num := (value (fst x), value (snd x)).

Fixpoint loop m (acc : float) (l : list (float * float)) : float :=
  match l with [] => acc | (a, b) :: l => loop m (Bplus m acc (Bmult m a b)) l end.
Fixpoint fused_loop m (acc : float) (l : list (float * float)) : float :=
  match l with [] => acc | (a, b) :: l => fused_loop m (Bfma m a b acc) l end.

(** From an accumulator that is itself a run of some terms: a shift, a skip row, or what another loop left. *)
Theorem loop_is_a_run : forall m l acc done, done <> [] -> sum_run format_of done (value acc) ->
  sum_run format_of (done ++ map pair_of l) (value (loop m acc l)).
Proof.
  intros m l. induction l as [| (a, b) l IH]; intros acc done N S; simpl; [rewrite app_nil_r; exact S |].
  replace (done ++ pair_of (a, b) :: map pair_of l) with ((done ++ [pair_of (a, b)]) ++ map pair_of l) by (rewrite <- app_assoc; reflexivity).
  apply IH; [destruct done; discriminate |].
  apply (sum_add format_of done [pair_of (a, b)] _ (value acc) (value (Bmult m a b))); [exact N | discriminate | exact S | | apply Permutation_refl | apply ieee_add].
  apply sum_product. apply ieee_mul.
Qed.

Theorem fused_loop_is_a_run : forall m l acc done, sum_run format_of done (value acc) ->
  sum_run format_of (done ++ map pair_of l) (value (fused_loop m acc l)).
Proof.
  intros m l. induction l as [| (a, b) l IH]; intros acc done S; simpl; [rewrite app_nil_r; exact S |].
  replace (done ++ pair_of (a, b) :: map pair_of l) with ((done ++ [pair_of (a, b)]) ++ map pair_of l) by (rewrite <- app_assoc; reflexivity).
  apply IH.
  apply (sum_fma format_of (value a) (value b) done _ (value acc)); [exact S | apply Permutation_cons_append | apply ieee_fma].
Qed.

(** From +0. *)
Theorem fused_loop_from_zero : forall m l, sum_run format_of (map pair_of l) (value (fused_loop m (B754_zero false) l)).
Proof. intros m l. apply (fused_loop_is_a_run m l (B754_zero false) []). apply sum_empty. Qed.

Theorem loop_from_the_first_product : forall m a b l,
  sum_run format_of (map pair_of ((a, b) :: l)) (value (loop m (Bmult m a b) l)).
Proof. intros m a b l. apply (loop_is_a_run m l (Bmult m a b) [pair_of (a, b)]); [discriminate |]. apply sum_product, ieee_mul. Qed.

End Format.

(** The four formats are those of IEEE 754 (and bfloat16). *)
Theorem formats : format_of 24 128 = float32 /\ format_of 8 128 = bfloat16 /\ format_of 11 16 = float16 /\ format_of 53 1024 = float64.
Proof. repeat split. Qed.

(** *** Longer formats *)

(** Every rounding, in every mode, into a format of at least these digits and this range is a step of a run. *)
Theorem longer : forall f prec least' rnd (V : Valid_rnd rnd), (0 < precision f <= prec)%Z -> (least' <= least f)%Z ->
  forall x, rounds f x (Some (round radix2 (FLT_exp least' prec) rnd x)).
Proof.
  intros f prec least' rnd V P E x _. eexists. split; [reflexivity |]. left. intros g G.
  assert (X : Valid_exp (FLT_exp least' prec)) by (apply FLT_exp_valid; unfold Prec_gt_0; lia).
  assert (G' : generic_format radix2 (FLT_exp least' prec) g).
  { unfold held in G. revert G. apply generic_inclusion_mag. intros _. unfold FLT_exp. lia. }
  split; intro L; [apply round_ge_generic | apply round_le_generic]; assumption.
Qed.

(** An exact result too. *)
Theorem unrounded : forall f x, rounds f x (Some x).
Proof. intros f x _. exists x. split; [reflexivity |]. left. intros g _. split; intro L; exact L. Qed.
