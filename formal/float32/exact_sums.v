(** Theorem R12 of docs/rigour/runs.md, for sums: (i) sums that no run rounds, and (iii) how far a run can be from the
    exact value. Numbers are reals here; [checker.v] decides in integers which sum is which. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core.
From Flocq Require Import Relative.
From Float32 Require Import semantics.
Import ListNotations.
Open Scope R_scope.

Notation pow2 := (bpow radix2).

(** What the proofs need of a format; the four of semantics.v have it. *)
Definition usable (f : format) : Prop := (2 <= precision f /\ precision f + 1 <= safe f /\ normal f <= 0)%Z.

Lemma pow2_IZR : forall e, (0 <= e)%Z -> pow2 e = IZR (2 ^ e).
Proof. intros e H. rewrite <- (IZR_Zpower radix2) by exact H. reflexivity. Qed.

Section Sums.

Variable f : format.
Hypothesis f_usable : usable f.
Notation p := (precision f).
Notation lo := (normal f).
Notation held := (held f).
Notation rounds := (rounds f).
Notation sum_run := (sum_run f).

Local Instance p_pos : Prec_gt_0 p. Proof. destruct f_usable as (P & _). unfold Prec_gt_0. lia. Qed.

(** *** One rounding *)

(** A multiple of 2^e of size at most 2^(p + e) is held. *)
Lemma held_multiple : forall z e, (least f <= e)%Z -> Rabs (IZR z * pow2 e) <= pow2 (p + e) -> held (IZR z * pow2 e).
Proof.
  intros z e He Hz. assert (P : (0 < p)%Z) by apply p_pos.
  assert (Ha : (Z.abs z <= 2 ^ p)%Z).
  { rewrite Rabs_mult, (Rabs_pos_eq (pow2 e)) in Hz by apply bpow_ge_0.
    rewrite bpow_plus in Hz. apply Rmult_le_reg_r in Hz; [| apply bpow_gt_0].
    rewrite <- abs_IZR, pow2_IZR in Hz by lia. apply le_IZR. exact Hz. }
  destruct (Z.eq_dec (Z.abs z) (2 ^ p)) as [H | H].
  - assert (B : held (pow2 (p + e))) by (apply generic_format_FLT_bpow; [apply p_pos | lia]).
    destruct (Z.abs_eq_or_opp z) as [E | E].
    + replace (IZR z * pow2 e) with (pow2 (p + e)); [exact B |].
      rewrite bpow_plus, pow2_IZR by lia. do 2 f_equal. lia.
    + replace (IZR z * pow2 e) with (- pow2 (p + e)); [apply generic_format_opp, B |].
      rewrite bpow_plus, pow2_IZR by lia. replace z with (- 2 ^ p)%Z by lia. rewrite opp_IZR. ring.
  - apply generic_format_FLT. exists (Float radix2 z e); [reflexivity | simpl Fnum | exact He].
    change (Zpower radix2 p) with (2 ^ p)%Z. lia.
Qed.

Lemma held_0 : held 0. Proof. apply generic_format_0. Qed.

Lemma held_1 : held 1.
Proof.
  change 1 with (pow2 0). apply generic_format_FLT_bpow; [apply p_pos |]. destruct f_usable as (P & _ & L). unfold normal in L. lia.
Qed.

(** What the format holds is returned, as long as it is no number that may be flushed to 0. *)
Lemma rounds_exact : forall x y, held x -> Rabs x < pow2 (safe f) -> (x = 0 \/ pow2 lo <= Rabs x) -> rounds x y -> y = Some x.
Proof.
  intros x y Hf Hb Hl H. destruct (H Hb) as (r & -> & [N | [L ->]]).
  - f_equal. destruct (N x Hf) as (N1 & N2). pose proof (N1 (Rle_refl x)). pose proof (N2 (Rle_refl x)). lra.
  - destruct Hl as [-> | Hl]; [reflexivity |]. exfalso. lra.
Qed.

(** A result that is smaller than the smallest normal number may have been flushed: reading it as 0 (DAZ) is a run. *)
Lemma flushed_on_reading : forall x r, Rabs x < pow2 (safe f) -> rounds x (Some r) -> Rabs r < pow2 lo -> rounds x (Some 0).
Proof.
  intros x r B H L _. exists 0. split; [reflexivity |]. destruct (H B) as (r' & E & C). inversion E; subst r'. clear E.
  destruct C as [N | (T & _)]; [| right; split; [exact T | reflexivity]].
  right. split; [| reflexivity]. apply Rnot_le_lt. intro G. apply Rlt_not_le in L. apply L.
  assert (X : held (pow2 lo)) by (apply generic_format_FLT_bpow; [apply p_pos | unfold normal; pose proof p_pos; unfold Prec_gt_0 in *; lia]).
  unfold Rabs at 1 in G. destruct (Rcase_abs x) as [Hx | Hx].
  - destruct (N (- pow2 lo) ltac:(apply generic_format_opp, X)) as (_ & N2). specialize (N2 ltac:(lra)).
    rewrite Rabs_left1; [lra |]. pose proof (bpow_gt_0 radix2 lo). lra.
  - destruct (N (pow2 lo) X) as (N1 & _). specialize (N1 G). eapply Rle_trans; [apply N1 | apply Rle_abs].
Qed.

(** Rounding does not leave an interval whose ends are held. *)
Lemma rounds_between : forall x y b, held b -> 0 <= b < pow2 (safe f) -> Rabs x <= b -> rounds x y ->
  exists r, y = Some r /\ Rabs r <= b.
Proof.
  intros x y b F (B0 & B) X H. destruct (H ltac:(lra)) as (r & -> & C). exists r. split; [reflexivity |].
  destruct C as [N | (_ & ->)]; [| rewrite Rabs_R0; exact B0]. apply Rabs_le_inv in X. apply Rabs_le.
  destruct (N b F) as (_ & N2). destruct (N (- b) ltac:(apply generic_format_opp, F)) as (N1 & _). lra.
Qed.

Lemma multiple_not_tiny : forall z e, (lo <= e)%Z -> IZR z * pow2 e = 0 \/ pow2 lo <= Rabs (IZR z * pow2 e).
Proof.
  intros z e He. destruct (Z.eq_dec z 0) as [-> | H]; [left; ring | right].
  rewrite Rabs_mult, (Rabs_pos_eq (pow2 e)) by apply bpow_ge_0. rewrite <- abs_IZR.
  apply Rle_trans with (1 * pow2 e).
  - rewrite Rmult_1_l. apply bpow_le, He.
  - apply Rmult_le_compat_r; [apply bpow_ge_0 |]. apply IZR_le. lia.
Qed.

(** The units of sums that are not rounded. *)
Definition unit (e : Z) : Prop := (lo <= e /\ p + e < safe f)%Z.

Lemma rounds_multiple : forall z e y, unit e -> Rabs (IZR z * pow2 e) <= pow2 (p + e) ->
  rounds (IZR z * pow2 e) y -> y = Some (IZR z * pow2 e).
Proof.
  intros z e y (L & U) Hz. pose proof p_pos as P. unfold Prec_gt_0 in P.
  apply rounds_exact; [apply held_multiple; [unfold normal in L; lia | exact Hz] | | apply multiple_not_tiny; exact L].
  apply Rle_lt_trans with (1 := Hz). apply bpow_lt. exact U.
Qed.

(** A rounding is off by at most 2^(1 - p) of the number, and 2^normal. *)
Notation u := (pow2 (1 - p)).
Lemma ulp_small : forall x, ulp radix2 (FLT_exp (least f) p) x <= u * Rabs x + pow2 lo.
Proof.
  intro x. pose proof (bpow_ge_0 radix2 lo). pose proof p_pos as P. unfold Prec_gt_0 in P.
  assert (0 <= u * Rabs x) by (apply Rmult_le_pos; [apply bpow_ge_0 | apply Rabs_pos]).
  destruct (Rle_or_lt (pow2 lo) (Rabs x)) as [L | L].
  - pose proof (ulp_FLT_le radix2 (least f) p x L) as U. rewrite Rmult_comm in U. lra.
  - rewrite (ulp_FLT_small radix2 (least f) p x).
    + assert (pow2 (least f) <= pow2 lo) by (apply bpow_le; unfold normal; lia). lra.
    + apply Rlt_le_trans with (1 := L). apply bpow_le. unfold normal. lia.
Qed.

Lemma near_ulp : forall rnd (V : Valid_rnd rnd) x, Rabs (round radix2 (FLT_exp (least f) p) rnd x - x) <= ulp radix2 (FLT_exp (least f) p) x.
Proof. intros rnd V x. apply error_le_ulp; [apply FLT_exp_valid; exact p_pos | exact V]. Qed.

Lemma rounds_error : forall x y, Rabs x < pow2 (safe f) -> rounds x y ->
  exists r, y = Some r /\ Rabs (r - x) <= u * Rabs x + pow2 lo.
Proof.
  intros x y Hb H. destruct (H Hb) as (r & -> & C). exists r. split; [reflexivity |].
  assert (0 <= u * Rabs x) by (apply Rmult_le_pos; [apply bpow_ge_0 | apply Rabs_pos]).
  assert (X : Valid_exp (FLT_exp (least f) p)) by (apply FLT_exp_valid; exact p_pos).
  destruct C as [N | [L ->]].
  - eapply Rle_trans; [| apply ulp_small].
    assert (F : forall rnd (V : Valid_rnd rnd), held (round radix2 (FLT_exp (least f) p) rnd x)).
    { intros rnd V. apply generic_format_round; [exact X | exact V]. }
    pose proof (round_DN_pt radix2 (FLT_exp (least f) p) x) as (_ & D & _). pose proof (round_UP_pt radix2 (FLT_exp (least f) p) x) as (_ & U & _).
    pose proof (near_ulp Zfloor _ x) as ED. pose proof (near_ulp Zceil _ x) as EU.
    destruct (N _ (F Zfloor _)) as (N1 & _). destruct (N _ (F Zceil _)) as (_ & N2).
    specialize (N1 D). specialize (N2 U). apply Rabs_le_inv in ED, EU. apply Rabs_le. lra.
  - replace (0 - x) with (- x) by ring. rewrite Rabs_Ropp. lra.
Qed.

(** *** Sums *)

(** The exact value of a product. *)
Definition term (t : num * num) : R := match t with (Some a, Some b) => a * b | _ => 0 end.
Definition finite (t : num * num) : Prop := match t with (Some _, Some _) => True | _ => False end.

Definition total (g : R -> R) (l : list (num * num)) : R := fold_right (fun t s => g (term t) + s) 0 l.

Lemma total_app : forall g l1 l2, total g (l1 ++ l2) = total g l1 + total g l2.
Proof. intros g l1 l2. induction l1 as [| t l1 IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma total_permutation : forall g l1 l2, Permutation l1 l2 -> total g l1 = total g l2.
Proof. intros g l1 l2 H. induction H; simpl; lra. Qed.

Lemma total_nonnegative : forall g l, (forall x, 0 <= g x) -> 0 <= total g l.
Proof. intros g l H. induction l as [| t l IH]; simpl; [lra | specialize (H (term t)); lra]. Qed.

Definition exact := fun x : R => x.
Definition above (x : R) := Rmax x 0.
Definition below (x : R) := Rmax (- x) 0.

Lemma above_pos : forall x, 0 <= above x. Proof. intro x. apply Rmax_r. Qed.
Lemma below_pos : forall x, 0 <= below x. Proof. intro x. apply Rmax_r. Qed.

Lemma total_parts : forall l, total exact l = total above l - total below l.
Proof.
  intro l. induction l as [| t l IH]; simpl; [ring |]. rewrite IH. unfold exact, above, below, Rmax.
  repeat destruct Rle_dec; lra.
Qed.

(** A part of the terms of a sum sums up to a size of at most 2^(p + e), and is a multiple of 2^e. *)
Definition fits (e : Z) (l : list (num * num)) : Prop :=
  Forall finite l /\ Forall (fun t => exists z, term t = IZR z * pow2 e) l /\
  total above l <= pow2 (p + e) /\ total below l <= pow2 (p + e).

Lemma fits_permutation : forall e l1 l2, Permutation l1 l2 -> fits e l1 -> fits e l2.
Proof.
  intros e l1 l2 P (A & B & C & D). repeat split.
  - revert A. apply Permutation_Forall, P.
  - revert B. apply Permutation_Forall, P.
  - rewrite <- (total_permutation above l1 l2 P). exact C.
  - rewrite <- (total_permutation below l1 l2 P). exact D.
Qed.

Lemma fits_app : forall e l1 l2, fits e (l1 ++ l2) -> fits e l1 /\ fits e l2.
Proof.
  intros e l1 l2 (A & B & C & D). rewrite total_app in C, D. apply Forall_app in A, B.
  pose proof (total_nonnegative above l1 above_pos). pose proof (total_nonnegative above l2 above_pos).
  pose proof (total_nonnegative below l1 below_pos). pose proof (total_nonnegative below l2 below_pos).
  repeat split; try apply A; try apply B; lra.
Qed.

Lemma fits_total : forall e l, fits e l ->
  (exists z, total exact l = IZR z * pow2 e) /\ Rabs (total exact l) <= pow2 (p + e).
Proof.
  intros e l (_ & B & C & D). split.
  - clear C D. induction B as [| t l (z & E) _ (n & IH)]; [exists 0%Z; simpl; ring |].
    exists (z + n)%Z. simpl. rewrite IH. unfold exact. rewrite E, plus_IZR. ring.
  - rewrite total_parts.
    pose proof (total_nonnegative above l above_pos). pose proof (total_nonnegative below l below_pos).
    apply Rabs_le. lra.
Qed.

Lemma rounds_fitting : forall e l y, unit e -> fits e l -> rounds (total exact l) y -> y = Some (total exact l).
Proof.
  intros e l y He F H. destruct (fits_total e l F) as ((z & E) & S). rewrite E in *. apply rounds_multiple in H; assumption.
Qed.

(** Theorem R12 (i): every run of such a sum returns its exact value. *)
Theorem sum_without_rounding : forall e l y, unit e -> fits e l -> sum_run l y -> y = Some (total exact l).
Proof.
  intros e l y He F H. revert F.
  induction H as [| a b y M | l1 l2 l x y z _ _ _ IH1 _ IH2 P A | a b l l' x z _ IH P A | a b l l' x _ IH P Z]; intro F.
  - reflexivity.
  - destruct a as [a |], b as [b |]; try (destruct F as (F & _); inversion F; contradiction).
    simpl in M. apply (rounds_fitting e _ _ He F). simpl. unfold exact. replace (a * b + 0) with (a * b) by ring. exact M.
  - apply fits_permutation with (1 := Permutation_sym P) in F. destruct (fits_app _ _ _ F) as (F1 & F2).
    rewrite (IH1 F1), (IH2 F2) in A. simpl in A. rewrite <- total_app in A.
    rewrite <- (total_permutation _ _ _ P). apply (rounds_fitting e _ _ He F A).
  - apply fits_permutation with (1 := Permutation_sym P) in F. destruct (fits_app e [(a, b)] l F) as (F1 & F2).
    rewrite (IH F2) in A. destruct a as [a |], b as [b |]; try (destruct F1 as (F1 & _); inversion F1; contradiction).
    rewrite <- (total_permutation _ _ _ P). apply (rounds_fitting e _ _ He F A).
  - apply fits_permutation with (1 := Permutation_sym P) in F. destruct (fits_app e [(Some a, Some b)] l F) as (_ & F2).
    rewrite (IH F2). rewrite <- (total_permutation _ _ _ P). simpl. unfold exact at 2. rewrite Z. f_equal. ring.
Qed.

(** *** Sums that may be rounded *)

Definition growth (n : nat) : R := (1 + u) ^ n.

(** Sizes of terms, and [tiny] for what underflows. *)
Definition tiny : R := pow2 (lo + p - 1).
Lemma tiny_pos : 0 <= tiny. Proof. apply bpow_ge_0. Qed.
Definition size (x : R) : R := Rabs x + tiny.
Lemma size_pos : forall x, 0 <= size x.
Proof. intro x. unfold size. pose proof (Rabs_pos x). pose proof tiny_pos. lra. Qed.

Lemma u_pos : 0 < u. Proof. apply bpow_gt_0. Qed.

Lemma growth_mono : forall m n, (m <= n)%nat -> growth m <= growth n.
Proof. intros m n H. apply Rle_pow; [pose proof u_pos; lra | exact H]. Qed.
Lemma growth_one : forall n, 1 <= growth n.
Proof. intro n. apply pow_R1_Rle. pose proof u_pos. lra. Qed.

Lemma growth_step : forall x v g, 0 <= x -> 0 <= v -> (x + 1) * v <= / 2 -> g <= 1 + 2 * x * v -> (1 + v) * g <= 1 + 2 * (x + 1) * v.
Proof. intros x v g Hx Hv H Hg. nra. Qed.

Lemma growth_linear : forall n, INR n * u <= / 2 -> growth n <= 1 + 2 * INR n * u.
Proof.
  induction n as [| n IH]; intro H; [unfold growth; simpl; lra |].
  rewrite S_INR in *. pose proof u_pos. pose proof (pos_INR n).
  apply growth_step; [assumption | lra | exact H | apply IH; lra].
Qed.

Lemma total_size : forall l, Rabs (total exact l) + INR (length l) * tiny <= total size l.
Proof.
  induction l as [| t l IH]; [simpl; rewrite Rabs_R0; lra |].
  change (length (t :: l)) with (S (length l)). rewrite S_INR. simpl total. unfold exact at 1, size at 1.
  pose proof (Rabs_triang (term t) (total exact l)). lra.
Qed.

Lemma total_exact_size : forall l, Rabs (total exact l) <= total size l.
Proof.
  intro l. pose proof (total_size l). pose proof (pos_INR (length l)). pose proof tiny_pos.
  assert (0 <= INR (length l) * tiny) by (apply Rmult_le_pos; assumption). lra.
Qed.

Lemma size_nonempty : forall l, l <> [] -> Rabs (total exact l) + tiny <= total size l.
Proof.
  intros l H. pose proof (total_size l) as T. destruct l as [| t l]; [contradiction |].
  change (length (t :: l)) with (S (length l)) in T. rewrite S_INR in T.
  pose proof (pos_INR (length l)). pose proof tiny_pos.
  assert (0 <= INR (length l) * tiny) by (apply Rmult_le_pos; assumption). lra.
Qed.

(** One more rounding: [x] is off from [t] by (growth n - 1) a, and is rounded. *)
Lemma one_more : forall n x t a y, Rabs t + tiny <= a -> Rabs (x - t) <= (growth n - 1) * a ->
  growth n * a < pow2 (safe f) -> rounds x y -> exists r, y = Some r /\ Rabs (r - t) <= (growth (S n) - 1) * a.
Proof.
  intros n x t a y Ht Hx Hb H. pose proof tiny_pos.
  assert (S : Rabs x <= growth n * a - tiny).
  { replace x with (x - t + t) by ring. pose proof (Rabs_triang (x - t) t). lra. }
  destruct (rounds_error x y ltac:(lra) H) as (r & -> & E). exists r. split; [reflexivity |].
  replace (r - t) with (r - x + (x - t)) by ring. eapply Rle_trans; [apply Rabs_triang |].
  replace (pow2 lo) with (u * tiny) in E by (unfold tiny; rewrite <- bpow_plus; f_equal; ring).
  assert (u * Rabs x <= u * (growth n * a - tiny)) by (apply Rmult_le_compat_l; [apply bpow_ge_0 | exact S]).
  change (growth (Datatypes.S n)) with ((1 + u) * growth n). lra.
Qed.

(** Every run is near the exact value, as for (iii) of R12. *)
Theorem sum_with_rounding : forall l y, Forall finite l -> growth (length l) * total size l < pow2 (safe f) -> sum_run l y ->
  exists r, y = Some r /\ Rabs (r - total exact l) <= (growth (length l) - 1) * total size l.
Proof.
  intros l y F B H. revert F B.
  induction H as [| a b y M | l1 l2 l x y z N1 N2 H1 IH1 H2 IH2 P A | a b l l' x z H IH P A | a b l l' x H IH P Z]; intros F B.
  - exists 0. split; [reflexivity |]. simpl. rewrite Rminus_0_r, Rabs_R0. lra.
  - destruct a as [a |], b as [b |]; try (inversion F; contradiction). simpl in M.
    destruct (one_more 0 (a * b) (total exact [(Some a, Some b)]) (total size [(Some a, Some b)]) y) as (r & -> & E).
    + apply size_nonempty. discriminate.
    + simpl. unfold exact, growth. simpl. replace (a * b - (a * b + 0)) with 0 by ring. rewrite Rabs_R0. lra.
    + eapply Rle_lt_trans; [| apply B]. apply Rmult_le_compat_r; [apply total_nonnegative, size_pos | apply growth_mono; simpl; lia].
    + exact M.
    + exists r. split; [reflexivity | exact E].
  - pose proof (Permutation_Forall (Permutation_sym P) F) as F'. apply Forall_app in F'. destruct F' as (F1 & F2).
    rewrite <- (Permutation_length P), <- !(total_permutation _ _ _ P), !total_app, app_length in *.
    pose proof (total_nonnegative size l1 size_pos) as S1. pose proof (total_nonnegative size l2 size_pos) as S2.
    pose proof (growth_one (length l1 + length l2)) as G. pose proof (growth_mono (length l1) (length l1 + length l2) ltac:(lia)) as G1.
    pose proof (growth_mono (length l2) (length l1 + length l2) ltac:(lia)) as G2.
    destruct (IH1 F1) as (r1 & -> & E1).
    { eapply Rle_lt_trans; [| apply B]. pose proof (growth_one (length l1)). apply Rmult_le_compat; lra. }
    destruct (IH2 F2) as (r2 & -> & E2).
    { eapply Rle_lt_trans; [| apply B]. pose proof (growth_one (length l2)). apply Rmult_le_compat; lra. }
    simpl in A. clear IH1 IH2 H1 H2 P. assert (exists n, length l1 + length l2 = S n /\ length l1 <= n /\ length l2 <= n)%nat as (n & EN & L1 & L2).
    { destruct l1, l2; try contradiction. simpl. eexists. split; [reflexivity |]. simpl. lia. }
    rewrite EN in *. pose proof (growth_mono _ _ L1). pose proof (growth_mono _ _ L2).
    assert ((growth (length l1) - 1) * total size l1 <= (growth n - 1) * total size l1) by (apply Rmult_le_compat_r; lra).
    assert ((growth (length l2) - 1) * total size l2 <= (growth n - 1) * total size l2) by (apply Rmult_le_compat_r; lra).
    destruct (one_more n (r1 + r2) (total exact l1 + total exact l2) (total size l1 + total size l2) z) as (r & -> & E).
    + pose proof (size_nonempty l1 N1). pose proof (total_exact_size l2).
      pose proof (Rabs_triang (total exact l1) (total exact l2)). lra.
    + replace (r1 + r2 - (total exact l1 + total exact l2)) with ((r1 - total exact l1) + (r2 - total exact l2)) by ring.
      eapply Rle_trans; [apply Rabs_triang |]. lra.
    + eapply Rle_lt_trans; [| apply B]. apply Rmult_le_compat_r; [lra | apply growth_mono; lia].
    + exact A.
    + exists r. split; [reflexivity |]. exact E.
  - pose proof (Permutation_Forall (Permutation_sym P) F) as F'. inversion F' as [| t l0 Fa F2]; subst.
    destruct a as [a |], b as [b |]; try contradiction. clear F'.
    rewrite <- (Permutation_length P), <- (total_permutation size _ _ P) in B.
    rewrite <- (Permutation_length P), <- (total_permutation size _ _ P), <- (total_permutation exact _ _ P).
    simpl length in *. simpl total in *. simpl term in *.
    pose proof (total_nonnegative size l size_pos) as S1. pose proof (size_pos (a * b)) as S2.
    pose proof (growth_mono (length l) (S (length l)) ltac:(lia)) as G. pose proof (growth_one (length l)) as G1.
    destruct (IH F2) as (r1 & -> & E1).
    { eapply Rle_lt_trans; [| apply B]. apply Rmult_le_compat; lra. }
    simpl in A. clear IH H P.
    destruct (one_more (length l) (a * b + r1) (exact (a * b) + total exact l) (size (a * b) + total size l) z) as (r & -> & E).
    + pose proof (total_exact_size l). unfold exact at 1, size at 1. pose proof (Rabs_triang (a * b) (total exact l)). lra.
    + unfold exact at 1. replace (a * b + r1 - (a * b + total exact l)) with (r1 - total exact l) by ring.
      eapply Rle_trans; [apply E1 |]. apply Rmult_le_compat_l; lra.
    + eapply Rle_lt_trans; [| apply B]. apply Rmult_le_compat_r; lra.
    + exact A.
    + exists r. split; [reflexivity |]. exact E.
  - pose proof (Permutation_Forall (Permutation_sym P) F) as F'. inversion F' as [| t l0 Fa F2]; subst.
    assert (EL : length l' = S (length l)) by (symmetry; exact (Permutation_length P)).
    assert (ES : total size l' = size (a * b) + total size l) by (symmetry; exact (total_permutation size _ _ P)).
    assert (EE : total exact l' = exact (a * b) + total exact l) by (symmetry; exact (total_permutation exact _ _ P)).
    rewrite EL, ES, ?EE in *.
    pose proof (total_nonnegative size l size_pos) as S1. pose proof (size_pos (a * b)) as S2.
    pose proof (growth_mono (length l) (S (length l)) ltac:(lia)) as G. pose proof (growth_one (length l)) as G1.
    destruct (IH F2) as (r1 & -> & E1).
    { eapply Rle_lt_trans; [| apply B]. apply Rmult_le_compat; lra. }
    exists r1. split; [reflexivity |]. unfold exact at 1. rewrite Z, Rplus_0_l. eapply Rle_trans; [apply E1 |].
    rewrite Z in S2. apply Rmult_le_compat; lra.
Qed.

(** If the terms are at most n_i v each, where the format holds all multiples of v up to their sum, so is every run. *)
Theorem sum_is_bounded : forall j l ns y, (least f <= j)%Z -> Forall2 (fun t n => finite t /\ Rabs (term t) <= INR n * pow2 j) l ns ->
  (Z.of_nat (list_sum ns) <= 2 ^ p)%Z -> IZR (Z.of_nat (list_sum ns)) * pow2 j < pow2 (safe f) -> sum_run l y ->
  exists r, y = Some r /\ Rabs r <= INR (list_sum ns) * pow2 j.
Proof.
  intros j l ns y J F N S H. rewrite <- INR_IZR_INZ in S.
  assert (Held : forall n, (n <= list_sum ns)%nat -> held (INR n * pow2 j) /\ 0 <= INR n * pow2 j < pow2 (safe f)).
  { intros n L. pose proof (bpow_gt_0 radix2 j) as B. pose proof (pos_INR n) as I. apply le_INR in L as L'.
    assert (0 <= INR n * pow2 j) by (apply Rmult_le_pos; lra).
    assert (INR n * pow2 j <= INR (list_sum ns) * pow2 j) by (apply Rmult_le_compat_r; lra).
    split; [| lra]. rewrite INR_IZR_INZ. apply held_multiple; [exact J |].
    rewrite <- INR_IZR_INZ, Rabs_pos_eq, bpow_plus by assumption. apply Rmult_le_compat_r; [lra |].
    rewrite pow2_IZR, INR_IZR_INZ by (pose proof p_pos; unfold Prec_gt_0 in *; lia). apply IZR_le. lia. }
  clear N S. revert ns F Held.
  induction H as [| a b y M | l1 l2 l x y z N1 N2 H1 IH1 H2 IH2 P A | a b l l' x z H IH P A | a b l l' x H IH P Z]; intros ns F Held.
  - exists 0. rewrite Rabs_R0. split; [reflexivity |]. apply (Held (list_sum ns)). lia.
  - inversion F as [| t n l ns' (Fi & B) F']; subst. inversion F'; subst. destruct a as [a |], b as [b |]; try contradiction.
    simpl in B, M. cbn [list_sum fold_right] in *. rewrite Nat.add_0_r in *.
    destruct (Held n ltac:(lia)) as (Hd & Hs). exact (rounds_between _ _ _ Hd Hs B M).
  - destruct (Permutation_Forall2 (Permutation_sym P) F) as (ns' & P' & F'). apply Forall2_app_inv_l in F'.
    destruct F' as (ns1 & ns2 & F1 & F2 & ->).
    assert (E : list_sum ns = (list_sum ns1 + list_sum ns2)%nat) by (rewrite <- list_sum_app; apply Permutation_list_sum, P').
    rewrite E in *. clear E.
    destruct (IH1 ns1 F1) as (r1 & -> & B1). { intros n L. apply Held. lia. }
    destruct (IH2 ns2 F2) as (r2 & -> & B2). { intros n L. apply Held. lia. }
    simpl in A. destruct (Held (list_sum ns1 + list_sum ns2)%nat ltac:(lia)) as (Hd & Hs).
    refine (rounds_between _ _ _ Hd Hs _ A). rewrite plus_INR. pose proof (Rabs_triang r1 r2). lra.
  - destruct (Permutation_Forall2 (Permutation_sym P) F) as (ns' & P' & F').
    inversion F' as [| t n l0 ns1 (Fi & B) F1]; subst. destruct a as [a |], b as [b |]; try contradiction. simpl in B.
    assert (E : list_sum ns = (n + list_sum ns1)%nat) by (apply (Permutation_list_sum P')). rewrite E in *. clear E.
    destruct (IH ns1 F1) as (r & -> & B1). { intros m L. apply Held. lia. }
    simpl in A. destruct (Held (n + list_sum ns1)%nat ltac:(lia)) as (Hd & Hs).
    refine (rounds_between _ _ _ Hd Hs _ A). rewrite plus_INR. pose proof (Rabs_triang (a * b) r). lra.
  - destruct (Permutation_Forall2 (Permutation_sym P) F) as (ns' & P' & F').
    inversion F' as [| t n l0 ns1 (Fi & B) F1]; subst.
    assert (E : list_sum ns = (n + list_sum ns1)%nat) by (apply (Permutation_list_sum P')). rewrite E in *. clear E.
    destruct (IH ns1 F1) as (r & -> & B1). { intros m L. apply Held. lia. }
    exists r. split; [reflexivity |]. rewrite plus_INR. pose proof (pos_INR n). pose proof (bpow_ge_0 radix2 j).
    assert (0 <= INR n * pow2 j) by (apply Rmult_le_pos; assumption). lra.
Qed.

End Sums.
