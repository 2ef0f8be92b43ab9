(** One head that looks at positions only gives every context of a length a number of its own, with no hypothesis on
    the contexts but that they are different. *)

From Coq Require Import Reals List Lra Lia Arith ZArith NArith.
From Formal Require Import sums attention accuracy bounds.
Import ListNotations.
Open Scope R_scope.

(** ** Sums of different powers of 2 *)

Fixpoint power_sum (n : nat) (k : nat -> N) : N :=
  match n with
  | O => 0%N
  | S m => (power_sum m k + 2 ^ k m)%N
  end.

Lemma power_sum_bits : forall n k, (forall i j, (i < n)%nat -> (j < n)%nat -> k i = k j -> i = j) ->
  forall b, N.testbit (power_sum n k) b = true <-> exists i, (i < n)%nat /\ k i = b.
Proof.
  induction n as [| n IH]; intros k Hk b.
  - simpl. split; [discriminate | intros [i [Hi _]]; lia].
  - assert (Hk' : forall i j, (i < n)%nat -> (j < n)%nat -> k i = k j -> i = j)
      by (intros; apply Hk; lia || assumption).
    specialize (IH k Hk'). simpl.
    assert (Hdisjoint : N.land (power_sum n k) (2 ^ k n) = 0%N).
    { apply N.bits_inj. intro c. rewrite N.land_spec, N.bits_0, N.pow2_bits_eqb.
      destruct (N.eqb_spec (k n) c) as [E | E]; [| apply Bool.andb_false_r].
      rewrite Bool.andb_true_r. destruct (N.testbit (power_sum n k) c) eqn:T; [| reflexivity].
      apply IH in T. destruct T as [i [Hi Hki]]. assert (i = n) by (apply Hk; [lia | lia | congruence]). lia. }
    rewrite N.add_nocarry_lxor, N.lxor_lor by assumption.
    rewrite N.lor_spec, N.pow2_bits_eqb, Bool.orb_true_iff, IH, N.eqb_eq. split.
    + intros [[i [Hi Hki]] | E]; [exists i; split; [lia | assumption] | exists n; split; [lia | assumption]].
    + intros [i [Hi Hki]]. destruct (Nat.eq_dec i n) as [-> | Hne]; [right; assumption |].
      left. exists i. split; [lia | assumption].
Qed.

(** The exponent of position [s] of a context of [S] tokens: different for different positions, whatever the tokens. *)
Definition exponent (S : nat) (t : context) (s : nat) : N := N.of_nat (s + S * token t s).

Lemma exponent_decodes : forall S t t' s s', (s < S)%nat -> (s' < S)%nat -> exponent S t s = exponent S t' s' ->
  s = s' /\ token t s = token t' s'.
Proof.
  intros S t t' s s' Hs Hs' E. apply Nnat.Nat2N.inj in E.
  assert (s = s').
  { apply (f_equal (fun x => x mod S)%nat) in E. rewrite !(Nat.mul_comm S), !Nat.mod_add, !Nat.mod_small in E by lia.
    exact E. }
  subst s'. split; [reflexivity |]. nia.
Qed.

Lemma power_sum_separates : forall S t t', length t = S -> length t' = S ->
  power_sum S (exponent S t) = power_sum S (exponent S t') -> t = t'.
Proof.
  intros S t t' Ht Ht' E. apply (nth_ext t t' 0%nat 0%nat); [congruence |]. intros s Hs. rewrite Ht in Hs.
  assert (B : N.testbit (power_sum S (exponent S t')) (exponent S t s) = true).
  { rewrite <- E. apply power_sum_bits; [| exists s; auto].
    intros i j Hi Hj Hij. apply (exponent_decodes S t t i j Hi Hj Hij). }
  apply power_sum_bits in B; [| intros i j Hi Hj Hij; apply (exponent_decodes S t' t' i j Hi Hj Hij)].
  destruct B as [i [Hi Hexp]]. apply exponent_decodes in Hexp; [| assumption | assumption].
  destruct Hexp as [-> Htok]. symmetry. exact Htok.
Qed.

Lemma power_sum_real : forall S t, Sum S (fun s => 2 ^ (s + S * token t s)) = IZR (Z.of_N (power_sum S (exponent S t))).
Proof.
  intros S t. unfold exponent.
  enough (G : forall n, Sum n (fun s => 2 ^ (s + S * token t s)) =
    IZR (Z.of_N (power_sum n (fun s => N.of_nat (s + S * token t s))))) by apply G.
  induction n as [| n IH]; [reflexivity |].
  simpl Sum. rewrite IH. simpl power_sum. rewrite N2Z.inj_add, plus_IZR, N2Z.inj_pow, nat_N_Z.
  rewrite pow_IZR. reflexivity.
Qed.

(** ** The network *)

(** Coordinates: 0 the number 2^(S n) of the token, 1 a constant for the query, 2 the score s log 2 of the position,
    3 what the head writes. *)
Definition positional_network (S N : nat) : network := {|
  n_ctx := S; d_model := 4; n_heads := 1; d_qk := 1; d_head := 1; d_vocab_out := N;
  W_E := fun n i => match i with 0%nat => 2 ^ (S * n) | _ => 0 end;
  W_pos := fun s i => match i with 1%nat => 1 | 2%nat => INR s * ln 2 | _ => 0 end;
  W_Q := fun _ i _ => match i with 1%nat => 1 | _ => 0 end;
  W_K := fun _ i _ => match i with 2%nat => 1 | _ => 0 end;
  W_V := fun _ i _ => match i with 0%nat => 1 | _ => 0 end;
  W_O := fun _ _ i => match i with 3%nat => Sum S (fun s => 2 ^ s) | _ => 0 end;
  W_U := fun _ _ => 0
|}.

Lemma positional_exp_score : forall S N t s, exp (score (positional_network S N) 0 t s) = 2 ^ s.
Proof.
  intros S N t s. unfold score, query, key, input, embedding. simpl.
  replace (0 + _) with (INR s * ln 2) by ring. rewrite exp_power, exp_ln by lra. reflexivity.
Qed.

Lemma positional_stream : forall (S N : nat) t, (1 <= S)%nat ->
  stream (positional_network S N) t 3 = IZR (Z.of_N (power_sum S (exponent S t))).
Proof.
  intros S N t HS. set (m := positional_network S N).
  assert (Hpart : partition m 0 t = Sum S (fun s => 2 ^ s)).
  { unfold partition. simpl n_ctx. apply Sum_ext. intros s _. apply positional_exp_score. }
  assert (Hpos : 0 < Sum S (fun s => 2 ^ s)) by (apply Sum_positive; [lia | intros; apply pow_lt; lra]).
  assert (Hfeature : feature m 0 t 0 * Sum S (fun s => 2 ^ s) = Sum S (fun s => 2 ^ (s + S * token t s))).
  { unfold feature. simpl. rewrite Rplus_0_l, Rmult_1_r, !Rmult_0_r, !Rplus_0_r. unfold mixture. simpl n_ctx.
    rewrite <- Sum_scale_right. apply Sum_ext. intros s _. unfold attention. rewrite Hpart.
    unfold m at 1. rewrite positional_exp_score. unfold input, embedding. simpl. rewrite Rplus_0_r, pow_add.
    field. lra. }
  unfold stream, skip, input, embedding. simpl. rewrite !Rplus_0_l. rewrite Hfeature. apply power_sum_real.
Qed.

(** For every length there is a network of one head, whatever the number of tokens, that writes different numbers for
    different contexts. *)
(* Answers: that one head may hold too little is no lack of information. *)
Theorem positional_head_separates_contexts : forall S N : nat, (1 <= S)%nat ->
  exists m, sizes m N S 4 1 1 /\ d_qk m = 1%nat /\
    forall t t', length t = S -> length t' = S -> stream m t 3 = stream m t' 3 -> t = t'.
Proof.
  intros S N HS. exists (positional_network S N). split; [repeat split |]. split; [reflexivity |].
  intros t t' Ht Ht' E. rewrite !positional_stream in E by assumption.
  apply eq_IZR, N2Z.inj in E. apply (power_sum_separates S); assumption.
Qed.
