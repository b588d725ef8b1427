// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "../src/GeoAnswers.sol";
import {GeoQuorum} from "../src/GeoQuorum.sol";
import {GeoResolver} from "../src/GeoResolver.sol";
import {Attestation} from "../src/eas/IEAS.sol";
import {NearbyToken} from "../examples/NearbyToken.sol";
import {Reader} from "./Harness.sol";
import {Operators} from "./Operators.sol";
import {IAttest} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice Lands a second answer of a quorum while EAS calls it as a resolver.
contract ReentrantResolver {
    GeoQuorum private immutable _quorum;
    bytes private _call;
    bool public entered;
    bytes public refusal;

    constructor(GeoQuorum quorum) {
        _quorum = quorum;
    }

    function arm(bytes calldata call) external {
        _call = call;
    }

    function isPayable() external pure returns (bool) {
        return false;
    }

    function attest(Attestation calldata) external payable returns (bool) {
        if (!entered) {
            entered = true;
            bool landed;
            (landed, refusal) = address(_quorum).call(_call);
            require(!landed, "landed twice");
        }
        return true;
    }
}

/// @notice Tests of the quorum: 3 of 5 operators on the real EAS, and attacks on each rule.
contract GeoQuorumTest is Operators {
    // Landing

    function test_LandsWithEachQuorum(uint8 subset) public {
        uint256 signers = subset % 32;
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(signers, quorum.digestOf(wanted));
        if (countOf(signers) < 3) {
            vm.expectRevert(abi.encodeWithSelector(GeoQuorum.TooFewSigners.selector, countOf(signers), 3));
            quorum.land(wanted, signers, signatures);
            return;
        }
        bytes32 uid = quorum.land(wanted, signers, signatures);
        Attestation memory attestation = eas.getAttestation(uid);
        vm.assertEq(attestation.attester, address(quorum));
        vm.assertEq(keccak256(attestation.data), keccak256(wanted.data));
        vm.assertEq(attestation.recipient, account);
        vm.assertTrue(quorum.used(quorum.digestOf(wanted)));
    }

    function test_AttestsEveryField() public {
        GeoQuorum.Answer memory wanted = within;
        wanted.expirationTime = uint64(block.timestamp + 1 hours);
        wanted.revocable = false;
        wanted.refUID = ref("near");
        Attestation memory attestation = eas.getAttestation(landBy(wanted, 7));
        vm.assertEq(attestation.schema, wanted.schema);
        vm.assertEq(attestation.expirationTime, wanted.expirationTime);
        vm.assertFalse(attestation.revocable);
        vm.assertEq(attestation.refUID, wanted.refUID);
    }

    function test_ReadersTrustAQuorumByItsAddress() public {
        bytes32 uid = landed();
        GeoAnswers.Terms memory terms =
            GeoAnswers.Terms(booleanSchema, address(quorum), address(0), account, 1 hours);
        new Reader(eas).within(uid, terms, ref("near"), ref("tower"), 500_00);
        // A single operator's answer does not count.
        bytes32 single = attestAs(signer, booleanSchema, account, 0, within.data);
        Reader reader = new Reader(eas);
        (bytes32 near, bytes32 tower) = (ref("near"), ref("tower"));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongAttester.selector, signer, address(quorum)));
        reader.within(single, terms, near, tower, 500_00);
    }

    function test_ResolversTrustAQuorumByItsAddress() public {
        NearbyToken token = new NearbyToken(
            GeoResolver.Settings(eas, address(quorum), address(0), 1 hours, GeoResolver.Use.OncePerRecipient),
            ref("tower"),
            prover,
            locationSchema
        );
        GeoQuorum.Answer memory wanted = within;
        wanted.schema = token.schema();
        landBy(wanted, 7);
        vm.assertEq(token.ownerOf(1), account);
    }

    // Attacks on signatures

    function test_RefusesOneSignatureTwice() public {
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory twice = bytes.concat(signature(0, digest), signature(0, digest), signature(1, digest));
        refuses(wanted, 7, twice, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 1));
        bytes memory more = bytes.concat(signedBy(3, digest), signature(1, digest));
        refuses(wanted, 3, more, abi.encodeWithSelector(GeoQuorum.WrongSignatureLength.selector, 195, 130));
    }

    function test_RefusesDescendingOrder() public {
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory descending =
            bytes.concat(signature(2, digest), signature(1, digest), signature(0, digest));
        refuses(wanted, 7, descending, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 0));
    }

    function test_RefusesAnIndexBeyondTheOperators(uint8 index) public {
        vm.assume(index > 4);
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        bytes memory padded = bytes.concat(signatures, new bytes(65));
        refuses(wanted, 7 | 2 ** index, padded, abi.encodeWithSelector(GeoQuorum.UnknownOperator.selector, 5));
    }

    function test_RefusesASignatureOfAnotherOperator() public {
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        refuses(wanted, 11, signatures, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 3));
    }

    function test_RefusesAnOutsider() public {
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory outside = bytes.concat(signedBy(3, digest), sign(0xBAD, digest));
        refuses(wanted, 7, outside, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 2));
    }

    function test_RefusesHighS() public {
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keys[2], digest);
        uint256 order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
        refuses(
            wanted,
            7,
            bytes.concat(
                signedBy(3, digest), abi.encodePacked(r, bytes32(order - uint256(s)), uint8(55 - v))
            ),
            abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 2)
        );
    }

    function test_RefusesEveryOtherV(uint8 v) public {
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory signatures = signedBy(7, digest);
        vm.assume(bytes1(v) != signatures[194]);
        signatures[194] = bytes1(v);
        refuses(wanted, 7, signatures, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 2));
    }

    /// @dev ecrecover returns zero for an invalid signature, which equals a removed operator.
    function test_RefusesASignatureOfZeroForARemovedOperator() public {
        vm.prank(owner);
        quorum.remove(1, 2);
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory zero = abi.encodePacked(signedBy(3, digest), bytes32(0), bytes32(0), uint8(27));
        refuses(wanted, 7, zero, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 2));
        refuses(wanted, 7, signedBy(7, digest), abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 2));
        landBy(wanted, 27);
    }

    function test_RefusesAnotherLength(uint16 length) public {
        length = length % 400;
        vm.assume(length != 195);
        GeoQuorum.Answer memory wanted = within;
        bytes memory full = signedBy(7, quorum.digestOf(wanted));
        bytes memory other = new bytes(length);
        for (uint256 i = 0; i < length && i < 195; ++i) {
            other[i] = full[i];
        }
        uint256 expected = length > 195 ? 195 : (length / 65 + 1) * 65;
        refuses(
            wanted,
            7,
            other,
            abi.encodeWithSelector(GeoQuorum.WrongSignatureLength.selector, length, expected)
        );
    }

    function test_RefusesEveryAlteredByteOfASignature(uint8 position, uint8 bits) public {
        vm.assume(bits != 0);
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        uint256 index = position % 195;
        signatures[index] = signatures[index] ^ bytes1(bits);
        refuses(wanted, 7, signatures, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, index / 65));
    }

    function test_TrailingCalldataLandsNoSecondTime() public {
        GeoQuorum.Answer memory wanted = within;
        bytes memory call = abi.encodeCall(GeoQuorum.land, (wanted, 7, signedBy(7, quorum.digestOf(wanted))));
        (bool first,) = address(quorum).call(bytes.concat(call, hex"00ff"));
        vm.assertTrue(first);
        (bool second, bytes memory reason) = address(quorum).call(bytes.concat(call, hex"01"));
        vm.assertFalse(second);
        vm.assertEq(
            keccak256(reason),
            keccak256(abi.encodeWithSelector(GeoQuorum.AlreadyUsed.selector, quorum.digestOf(wanted)))
        );
    }

    // Attacks on the content

    function test_RefusesEveryAlteredField(uint8 field) public {
        GeoQuorum.Answer memory signed = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(signed));
        field = field % 8;
        if (field == 0) signed.schema = numericSchema;
        if (field == 1) signed.recipient = mallory;
        if (field == 2) signed.expirationTime += 1;
        if (field == 3) signed.revocable = !signed.revocable;
        if (field == 4) signed.refUID = bytes32(uint256(1));
        if (field == 5) signed.data = bytes.concat(signed.data, hex"00");
        if (field == 6) signed.deadline += 1;
        if (field == 7) {
            vm.prank(owner);
            quorum.propose(epochOf(block.timestamp + NOTICE, 30 days, 3));
            vm.warp(block.timestamp + NOTICE);
            signed.deadline = uint64(block.timestamp);
            signatures = signedBy(7, quorum.digestOf(signed));
            signed.epoch = 2;
        }
        refuses(signed, 7, signatures, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 0));
    }

    function test_RefusesAReplay() public {
        GeoQuorum.Answer memory wanted = within;
        bytes32 digest = quorum.digestOf(wanted);
        landBy(wanted, 7);
        bytes memory used = abi.encodeWithSelector(GeoQuorum.AlreadyUsed.selector, digest);
        refuses(wanted, 7, signedBy(7, digest), used);
        // Other operators sign the same digest, which is submitted in another block.
        vm.warp(block.timestamp + 1);
        refuses(wanted, 28, signedBy(28, digest), used);
    }

    function test_RefusesALateAnswer() public {
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        vm.warp(wanted.deadline + 1);
        refuses(
            wanted,
            7,
            signatures,
            abi.encodeWithSelector(GeoQuorum.DeadlinePassed.selector, uint256(wanted.deadline))
        );
        vm.warp(wanted.deadline);
        quorum.land(wanted, 7, signatures);
    }

    function test_RefusesSignaturesForAnotherChain() public {
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        vm.chainId(block.chainid + 1);
        refuses(wanted, 7, signatures, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 0));
        landBy(wanted, 7);
    }

    function test_RefusesSignaturesForAnotherQuorum() public {
        GeoQuorum other = new GeoQuorum(eas, owner, NOTICE, epochOf(block.timestamp, 30 days, 3));
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, other.digestOf(wanted));
        refuses(wanted, 7, signatures, abi.encodeWithSelector(GeoQuorum.WrongSignature.selector, 0));
    }

    function test_AResolverThatReentersLandsNoAnswerTwice() public {
        ReentrantResolver resolver = new ReentrantResolver(quorum);
        GeoQuorum.Answer memory wanted = within;
        wanted.schema = register(GeoAnswers.BOOLEAN_SCHEMA, address(resolver));
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory signatures = signedBy(7, digest);
        resolver.arm(abi.encodeCall(GeoQuorum.land, (wanted, 7, signatures)));
        quorum.land(wanted, 7, signatures);
        vm.assertTrue(resolver.entered());
        vm.assertEq(
            keccak256(resolver.refusal()),
            keccak256(abi.encodeWithSelector(GeoQuorum.AlreadyUsed.selector, digest))
        );
    }

    function test_ARefusalOfEasLeavesTheAnswerUsable() public {
        GeoQuorum.Answer memory wanted = within;
        wanted.expirationTime = uint64(block.timestamp + 1);
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        uint256 before = block.timestamp;
        vm.warp(before + 2);
        vm.expectRevert(IAttest.InvalidExpirationTime.selector);
        quorum.land(wanted, 7, signatures);
        vm.assertFalse(quorum.used(quorum.digestOf(wanted)));
        vm.warp(before);
        quorum.land(wanted, 7, signatures);
    }

    // Revocation

    function test_RevokesWithAQuorum() public {
        bytes32 uid = landed();
        uint64 deadline = uint64(block.timestamp + 60);
        bytes32 digest = typed(
            keccak256(abi.encode(quorum.REVOCATION_TYPEHASH(), booleanSchema, uid, deadline, uint32(1)))
        );
        bytes memory two = signedBy(3, digest);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.TooFewSigners.selector, 2, 3));
        quorum.revoke(booleanSchema, uid, deadline, 1, 3, two);
        quorum.revoke(booleanSchema, uid, deadline, 1, 7, signedBy(7, digest));
        vm.assertTrue(eas.getAttestation(uid).revocationTime != 0);
    }

    // Epochs

    function test_RefusesAWrongEpoch() public {
        GeoQuorum.Answer memory wanted = within;
        wanted.epoch = 0;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        refuses(wanted, 7, signatures, abi.encodeWithSelector(GeoQuorum.UnknownEpoch.selector, 0));
        wanted.epoch = 2;
        signatures = signedBy(7, quorum.digestOf(wanted));
        refuses(wanted, 7, signatures, abi.encodeWithSelector(GeoQuorum.UnknownEpoch.selector, 2));
    }

    function test_RefusesAnEpochThatEnded() public {
        GeoQuorum.Answer memory wanted = within;
        wanted.deadline = type(uint64).max;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        uint64 end = quorum.epochOf(1).validUntil;
        vm.warp(end);
        vm.expectPartialRevert(GeoQuorum.EpochNotValid.selector);
        quorum.land(wanted, 7, signatures);
        vm.warp(end - 1);
        quorum.land(wanted, 7, signatures);
    }

    function test_BothEpochsAreValidDuringTheOverlap() public {
        GeoQuorum.Answer memory first = within;
        first.deadline = type(uint64).max;
        GeoQuorum.Answer memory second = first;
        bytes memory early = signedBy(7, quorum.digestOf(first));
        rotateTo(epochOf(block.timestamp, 30 days, 3));
        uint256 started = block.timestamp;
        quorum.land(first, 7, early);
        second.epoch = 2;
        landBy(second, 7);
        first.epoch = 1;
        first.refUID = 0;
        first.expirationTime = type(uint64).max;
        early = signedBy(7, quorum.digestOf(first));
        vm.warp(started + quorum.MAX_OVERLAP());
        vm.expectPartialRevert(GeoQuorum.EpochNotValid.selector);
        quorum.land(first, 7, early);
    }

    function test_OperatorsOfTheEpochBeforeMayNotRotate() public {
        rotateTo(epochOf(block.timestamp, 30 days, 3));
        GeoQuorum.Epoch memory next = epochOf(block.timestamp, 30 days, 3);
        uint64 deadline = uint64(block.timestamp);
        bytes memory signatures = signedBy(7, quorum.rotationDigest(next, deadline, 1));
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.NotCurrentEpoch.selector, 1, 2));
        quorum.rotate(next, deadline, 1, 7, signatures);
    }

    function test_ARotationIsVoidAfterAnotherOne() public {
        GeoQuorum.Epoch memory next = epochOf(block.timestamp + 1 days, 30 days, 3);
        uint64 deadline = uint64(block.timestamp);
        bytes memory signatures = signedBy(7, quorum.rotationDigest(next, deadline, 1));
        quorum.rotate(next, deadline, 1, 7, signatures);
        vm.expectPartialRevert(GeoQuorum.WrongSignature.selector);
        quorum.rotate(next, deadline, 1, 7, signatures);
    }

    function test_RefusesARotationOfTooFewOperators() public {
        GeoQuorum.Epoch memory next = epochOf(block.timestamp, 30 days, 1);
        uint64 deadline = uint64(block.timestamp);
        bytes memory signatures = signedBy(3, quorum.rotationDigest(next, deadline, 1));
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.TooFewSigners.selector, 2, 3));
        quorum.rotate(next, deadline, 1, 3, signatures);
        signatures = signedBy(7, quorum.rotationDigest(next, deadline, 1));
        next.threshold = 2;
        vm.expectPartialRevert(GeoQuorum.WrongSignature.selector);
        quorum.rotate(next, deadline, 1, 7, signatures);
    }

    /// @dev The replaced epoch is never valid, and the epoch before the new one still ends.
    function test_AnEpochReplacesOneThatHasNotStarted() public {
        rotateTo(epochOf(block.timestamp + 100 days, 30 days, 3));
        vm.assertEq(quorum.epochOf(1).validUntil, block.timestamp + 100 days + quorum.MAX_OVERLAP());
        rotateTo(epochOf(block.timestamp, 200 days, 3));
        vm.assertEq(quorum.epochOf(2).validUntil, 0);
        vm.assertEq(quorum.epochOf(1).validUntil, block.timestamp + quorum.MAX_OVERLAP());
        vm.assertEq(quorum.currentEpoch(), 3);
        vm.warp(block.timestamp + 101 days);
        vm.assertEq(quorum.currentEpoch(), 3);
        rotateTo(epochOf(block.timestamp, 200 days, 3));
        vm.assertEq(quorum.epochOf(3).validUntil, block.timestamp + quorum.MAX_OVERLAP());
        vm.assertEq(quorum.epochOf(2).validUntil, 0);
        vm.assertEq(quorum.currentEpoch(), 4);
    }

    /// @dev Otherwise, no answer could land between the end of the overlap and the start of the new epoch.
    function test_AReplacedEpochDoesNotEndTheCurrentOne() public {
        uint64 planned = quorum.epochOf(1).validUntil;
        rotateTo(epochOf(block.timestamp + 1 days, 30 days, 3));
        vm.assertEq(quorum.epochOf(1).validUntil, block.timestamp + 1 days + quorum.MAX_OVERLAP());
        rotateTo(epochOf(block.timestamp + 100 days, 30 days, 3));
        vm.assertEq(quorum.epochOf(1).validUntil, block.timestamp + 100 days + quorum.MAX_OVERLAP());
        rotateTo(epochOf(block.timestamp + 350 days, 30 days, 3));
        vm.assertEq(quorum.epochOf(1).validUntil, planned);
    }

    /// @dev Otherwise, nobody could rotate from the time at which it would have started.
    function test_AReplacedEpochNeverBecomesTheCurrentOne() public {
        rotateTo(epochOf(block.timestamp + 1 days, 30 days, 3));
        rotateTo(epochOf(block.timestamp + 100 days, 30 days, 3));
        vm.warp(block.timestamp + 2 days);
        vm.assertEq(quorum.currentEpoch(), 1);
        rotateTo(epochOf(block.timestamp, 30 days, 3));
        vm.assertEq(quorum.currentEpoch(), 4);
    }

    function test_OperatorsOfAnEndedEpochMayNotRotate() public {
        GeoQuorum.Epoch memory next = epochOf(block.timestamp + 300 days, 30 days, 3);
        vm.warp(quorum.epochOf(1).validUntil);
        uint64 deadline = uint64(block.timestamp);
        bytes memory signatures = signedBy(7, quorum.rotationDigest(next, deadline, 1));
        vm.expectPartialRevert(GeoQuorum.EpochNotValid.selector);
        quorum.rotate(next, deadline, 1, 7, signatures);
        next = epochOf(block.timestamp + NOTICE, 30 days, 3);
        vm.prank(owner);
        quorum.propose(next);
        vm.warp(block.timestamp + NOTICE);
        GeoQuorum.Answer memory wanted = within;
        (wanted.epoch, wanted.deadline) = (2, uint64(block.timestamp));
        landBy(wanted, 7);
    }

    function test_LandsNothingBeforeTheFirstEpochStarts() public {
        uint256 start = block.timestamp + 1 days;
        quorum = new GeoQuorum(eas, owner, NOTICE, epochOf(start, 30 days, 3));
        GeoQuorum.Answer memory wanted = within;
        wanted.deadline = type(uint64).max;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        vm.assertEq(quorum.currentEpoch(), 0);
        vm.expectPartialRevert(GeoQuorum.EpochNotValid.selector);
        quorum.land(wanted, 7, signatures);
        vm.warp(start);
        quorum.land(wanted, 7, signatures);
    }

    function test_AnAnswerInFlightLandsAfterARotation() public {
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        rotateTo(epochOf(block.timestamp, 30 days, 5));
        quorum.land(wanted, 7, signatures);
    }

    function test_RefusesAnUnsoundEpoch() public {
        GeoQuorum.Epoch memory sound = epochOf(block.timestamp + NOTICE, 30 days, 3);
        GeoQuorum.Epoch memory next = copyOf(sound);
        next.threshold = 0;
        refusesEpoch(next, GeoQuorum.WrongThreshold.selector);
        next.threshold = 6;
        refusesEpoch(next, GeoQuorum.WrongThreshold.selector);
        next = copyOf(sound);
        next.operators[1] = next.operators[0];
        refusesEpoch(next, GeoQuorum.OperatorsNotAscending.selector);
        next = copyOf(sound);
        (next.operators[0], next.operators[1]) = (next.operators[1], next.operators[0]);
        refusesEpoch(next, GeoQuorum.OperatorsNotAscending.selector);
        next = copyOf(sound);
        next.operators[0] = address(0);
        refusesEpoch(next, GeoQuorum.OperatorsNotAscending.selector);
        next = copyOf(sound);
        next.operators = new address[](0);
        refusesEpoch(next, GeoQuorum.WrongThreshold.selector);
        next.operators = new address[](256);
        refusesEpoch(next, GeoQuorum.TooManyOperators.selector);
        next = copyOf(sound);
        next.validUntil = next.validFrom;
        refusesEpoch(next, GeoQuorum.WrongPeriod.selector);
        next.validUntil = uint64(next.validFrom + quorum.MAX_PERIOD() + 1);
        refusesEpoch(next, GeoQuorum.WrongPeriod.selector);
        next.validFrom = type(uint64).max - 1;
        next.validUntil = type(uint64).max;
        refusesEpoch(next, GeoQuorum.WrongPeriod.selector);
        next.validFrom = uint64(block.timestamp + quorum.MAX_PERIOD() + 1);
        next.validUntil = next.validFrom + 1;
        refusesEpoch(next, GeoQuorum.WrongPeriod.selector);
        next = copyOf(sound);
        next.validFrom -= 1;
        refusesEpoch(next, GeoQuorum.NoticeTooShort.selector);
    }

    /// @dev Operators may sign an epoch that has started, because its signatures take time to collect.
    function test_AnEpochThatHasStartedLeavesAnOverlap() public {
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(7, quorum.digestOf(wanted));
        rotateTo(epochOf(block.timestamp - 20 days, 60 days, 3));
        vm.assertEq(quorum.currentEpoch(), 2);
        vm.assertEq(quorum.epochOf(1).validUntil, block.timestamp + quorum.MAX_OVERLAP());
        quorum.land(wanted, 7, signatures);
    }

    function test_RefusesARotationToAnEpochThatHasEnded() public {
        GeoQuorum.Epoch memory next = epochOf(block.timestamp - 30 days, 30 days, 3);
        uint64 deadline = uint64(block.timestamp);
        bytes memory signatures = signedBy(7, quorum.rotationDigest(next, deadline, 1));
        vm.expectRevert(
            abi.encodeWithSelector(GeoQuorum.WrongPeriod.selector, next.validFrom, next.validUntil)
        );
        quorum.rotate(next, deadline, 1, 7, signatures);
    }

    function test_LandsWithTheLastOperatorsOfTheLargestEpoch() public {
        GeoQuorum.Epoch memory largest = epochOf(block.timestamp, 30 days, 3);
        largest.operators = new address[](255);
        for (uint160 i = 0; i < 255; ++i) {
            largest.operators[i] = i < 250 ? address(i + 1) : operators[i - 250];
        }
        quorum = new GeoQuorum(eas, owner, NOTICE, largest);
        GeoQuorum.Answer memory wanted = within;
        bytes memory signatures = signedBy(28, quorum.digestOf(wanted));
        refuses(
            wanted, 15 << 252, signatures, abi.encodeWithSelector(GeoQuorum.UnknownOperator.selector, 255)
        );
        quorum.land(wanted, 7 << 252, signatures);
    }

    // Owner

    function test_OnlyTheOwnerProposesAndOnlyOwnerOrOperatorRemoves() public {
        GeoQuorum.Epoch memory next = epochOf(block.timestamp + NOTICE, 30 days, 3);
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.NotOwner.selector, mallory));
        quorum.propose(next);
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.MayNotRemove.selector, mallory));
        quorum.remove(1, 0);
        vm.prank(operators[1]);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.MayNotRemove.selector, operators[1]));
        quorum.remove(1, 0);
        vm.prank(operators[1]);
        quorum.remove(1, 1);
        vm.assertEq(quorum.epochOf(1).operators[1], address(0));
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.UnknownOperator.selector, 1));
        quorum.remove(1, 1);
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.UnknownOperator.selector, 5));
        quorum.remove(1, 5);
    }

    function test_TransfersOwnershipInTwoSteps() public {
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.NotOwner.selector, mallory));
        quorum.transferOwnership(mallory);
        vm.prank(owner);
        quorum.transferOwnership(account);
        vm.assertEq(quorum.owner(), owner);
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.NotOwner.selector, mallory));
        quorum.acceptOwnership();
        vm.prank(account);
        quorum.acceptOwnership();
        vm.assertEq(quorum.owner(), account);
        vm.prank(account);
        quorum.renounceOwnership();
        vm.assertEq(quorum.owner(), address(0));
        GeoQuorum.Epoch memory next = epochOf(block.timestamp + NOTICE, 30 days, 3);
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.NotOwner.selector, account));
        quorum.propose(next);
        rotateTo(next);
    }

    function test_ATransferEndsWithTheOwnership() public {
        vm.prank(owner);
        quorum.transferOwnership(account);
        vm.prank(owner);
        quorum.renounceOwnership();
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(GeoQuorum.NotOwner.selector, account));
        quorum.acceptOwnership();
    }

    // Gas

    function test_GasOfOneSigner() public {
        gas(1);
    }

    function test_GasOfTwoSigners() public {
        gas(2);
    }

    function test_GasOfThreeSigners() public {
        gas(3);
    }

    function test_GasOfFiveSigners() public {
        gas(5);
    }

    function gas(uint8 count) private {
        GeoQuorum sized = new GeoQuorum(eas, owner, NOTICE, epochOf(block.timestamp, 30 days, count));
        quorum = sized;
        GeoQuorum.Answer memory wanted = within;
        uint256 signers = 2 ** count - 1;
        bytes memory signatures = signedBy(signers, quorum.digestOf(wanted));
        vm.cool(address(quorum));
        vm.cool(address(eas));
        vm.cool(address(eas.getSchemaRegistry()));
        quorum.land(wanted, signers, signatures);
        vm.snapshotGasLastCall(string.concat("land by a quorum of ", vm.toString(count)));
    }

    // ---------------------------------------------------------------------------------------------------------------

    function refuses(
        GeoQuorum.Answer memory wanted,
        uint256 signers,
        bytes memory signatures,
        bytes memory reason
    ) private {
        vm.expectRevert(reason);
        quorum.land(wanted, signers, signatures);
    }

    function refusesEpoch(GeoQuorum.Epoch memory next, bytes4 reason) private {
        vm.prank(owner);
        vm.expectPartialRevert(reason);
        quorum.propose(next);
    }

    function copyOf(GeoQuorum.Epoch memory epoch) private pure returns (GeoQuorum.Epoch memory) {
        return abi.decode(abi.encode(epoch), (GeoQuorum.Epoch));
    }
}
