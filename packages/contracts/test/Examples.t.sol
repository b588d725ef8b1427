// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DeliveryEscrow} from "../examples/DeliveryEscrow.sol";
import {ResidentsVote} from "../examples/ResidentsVote.sol";
import {GeoAnswers} from "../src/GeoAnswers.sol";
import {GeoInputs} from "../src/GeoInputs.sol";
import {World} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice Tests of the escrow and the vote with the service's answers. GeoResolver.t.sol tests the token.
contract ExamplesTest is World {
    DeliveryEscrow private escrow;
    ResidentsVote private ballot;
    /// @dev The home is the position near the tower that is attested to the account. `delivered` is attested
    /// to the first order. The zone is around it.
    uint64 private beforeDelivery;

    function setUp() public override {
        super.setUp();
        escrow = DeliveryEscrow(vm.parseJsonAddress(json, ".escrow"));
        bytes memory parameters = abi.encode(eas, signer, proxy, booleanSchema, locationSchema);
        create(address(escrow), type(DeliveryEscrow).creationCode, parameters, signer);
        ballot = new ResidentsVote(
            eas,
            signer,
            address(proxy),
            booleanSchema,
            locationSchema,
            ResidentsVote.Ballot(ref("zone"), prover, uint64(block.timestamp + 1 days), 2)
        );
        beforeDelivery = uint64(GeoInputs.eventTime(eas.getAttestation(ref("delivered")))) - 1;
    }

    function order(uint64 placed) private returns (uint256) {
        return order(placed, uint64(block.timestamp + 1 hours));
    }

    function order(uint64 placed, uint64 deadline) private returns (uint256) {
        uint256 present = block.timestamp;
        vm.warp(placed);
        vm.deal(address(this), 1 ether);
        uint256 number = escrow.place{value: 1 ether}(account, prover, ref("zone"), deadline);
        vm.warp(present);
        return number;
    }

    function test_PaysForADeliveryInTheZone() public {
        uint256 number = order(beforeDelivery);
        escrow.settle(number, ref("delivered"), land("delivered"));
        vm.assertEq(account.balance, 1 ether);
        vm.expectRevert(abi.encodeWithSelector(DeliveryEscrow.NoSuchOrder.selector, number));
        escrow.settle(number, ref("delivered"), 0);
        vm.expectRevert(abi.encodeWithSelector(DeliveryEscrow.NoSuchOrder.selector, number));
        escrow.refund(number);
    }

    /// @dev The delivery may not pay for a cheaper order of the same courier, whose buyer would get the goods
    /// for it, nor for an order of another buyer, who would get nothing.
    function test_DoesNotPayForADeliveryOfAnotherOrder() public {
        bytes32 answered = land("delivered");
        (uint256 first, uint256 second) = (order(beforeDelivery), order(beforeDelivery));
        vm.expectRevert(
            abi.encodeWithSelector(
                GeoInputs.WrongPlaceRecipient.selector, escrow.recipientOf(first), escrow.recipientOf(second)
            )
        );
        escrow.settle(second, ref("delivered"), answered);
        escrow.settle(first, ref("delivered"), answered);
        vm.assertEq(account.balance, 1 ether);
    }

    function test_DoesNotPayForADeliveryToTheCourier() public {
        bytes32 answered = land("contains");
        uint256 number = order(beforeDelivery);
        vm.expectRevert(
            abi.encodeWithSelector(
                GeoInputs.WrongPlaceRecipient.selector, account, escrow.recipientOf(number)
            )
        );
        escrow.settle(number, ref("near"), answered);
    }

    function test_HasAnAddressForEachOrderEscrowAndChain() public {
        DeliveryEscrow other = new DeliveryEscrow(eas, signer, address(proxy), booleanSchema, locationSchema);
        address first = escrow.recipientOf(1);
        vm.assertTrue(first != escrow.recipientOf(2));
        vm.assertTrue(first != other.recipientOf(1));
        vm.chainId(1);
        vm.assertTrue(first != escrow.recipientOf(1));
    }

    function test_DoesNotPayForADeliveryFromBeforeTheOrder() public {
        bytes32 answered = land("delivered");
        uint64 attested = eas.getAttestation(ref("delivered")).time;
        uint256 number = order(attested + 1);
        // On a fast machine, the answers are computed in the same second as the attestation.
        vm.warp(attested + 2);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.PlaceTooOld.selector, attested, attested + 1));
        escrow.settle(number, ref("delivered"), answered);
    }

    /// @dev A delivery that was attested to the order's address after the order was placed.
    function test_DoesNotPayForADeliveryObservedBeforeTheOrderOrInTheFuture() public {
        (bytes32 stale, bytes32 foretold) = (ref("deliveredStale"), ref("deliveredForetold"));
        bytes32 answered = land("deliveredStale");
        uint256 number = order(beforeDelivery, uint64(block.timestamp + 365 days));
        uint256 observed = GeoInputs.eventTime(eas.getAttestation(stale));
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooEarly.selector, observed, beforeDelivery));
        escrow.settle(number, stale, answered);
        answered = landByProxy("deliveredForetold");
        observed = GeoInputs.eventTime(eas.getAttestation(foretold));
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooLate.selector, observed, block.timestamp));
        escrow.settle(number, foretold, answered);
    }

    function test_DoesNotPayForADeliveryAfterTheDeadline() public {
        bytes32 answered = land("delivered");
        uint64 attested = eas.getAttestation(ref("delivered")).time;
        uint256 late = order(beforeDelivery, attested - 1);
        // recipientOf(1) is the recipient of the attested delivery.
        vm.assertEq(late, 1);
        vm.expectRevert(abi.encodeWithSelector(DeliveryEscrow.DeliveredLate.selector, attested, attested - 1));
        escrow.settle(late, ref("delivered"), answered);
    }

    /// @dev The witness attests a later observation in advance, and the courier settles once its time has come.
    function test_DoesNotPayForADeliveryObservedAfterTheDeadline() public {
        bytes32 foretold = ref("deliveredForetold");
        uint256 observed = GeoInputs.eventTime(eas.getAttestation(foretold));
        uint64 deadline = uint64(block.timestamp + 1 hours);
        uint256 number = order(beforeDelivery, deadline);
        vm.warp(observed + 1);
        bytes32 answered = answeredNow("deliveredForetold");
        vm.expectRevert(
            abi.encodeWithSelector(GeoInputs.ObservedTooLate.selector, observed, uint256(deadline))
        );
        escrow.settle(number, foretold, answered);
    }

    /// @dev Attests an answer of the service as if it were computed now.
    function answeredNow(string memory name) private returns (bytes32) {
        GeoAnswers.BooleanAnswer memory given = GeoAnswers.decodeBoolean(answer(name, "signature").data.data);
        bytes memory data = abi.encode(given.result, given.inputRefs, block.timestamp, given.operation);
        return attestAs(signer, booleanSchema, account, 0, data);
    }

    /// @dev The delivery is observed and attested in the last second. The answer is landed and settled a day
    /// later.
    function test_PaysForADeliveryOfTheLastMinute() public {
        uint64 attested = eas.getAttestation(ref("delivered")).time;
        uint256 number = order(beforeDelivery, attested);
        uint256 settleBy = attested + 1 days;
        vm.warp(settleBy);
        vm.expectRevert(abi.encodeWithSelector(DeliveryEscrow.NotYet.selector, settleBy));
        escrow.refund(number);
        escrow.settle(number, ref("delivered"), answeredNow("delivered"));
        vm.assertEq(account.balance, 1 ether);
    }

    function test_DoesNotPayForADeliveryThatTheCourierAttested() public {
        bytes32 answered = land("deliveredClaimed");
        uint256 number = order(beforeDelivery);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.WrongProver.selector, mallory, prover));
        escrow.settle(number, ref("deliveredClaimed"), answered);
    }

    function test_DoesNotPayForAnotherZone() public {
        bytes32 answered = land("deliveredVast");
        uint256 number = order(beforeDelivery);
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 0, ref("vastTyped"), ref("zone"))
        );
        escrow.settle(number, ref("deliveredFar"), answered);
    }

    function test_DoesNotPayForADeliveryOutside() public {
        bytes32 answered = land("deliveredFar");
        uint256 number = order(beforeDelivery);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        escrow.settle(number, ref("deliveredFar"), answered);
    }

    function test_RefundsADayAfterTheDeadline() public {
        uint256 number = order(beforeDelivery);
        uint256 settleBy = block.timestamp + 1 hours + 1 days;
        vm.warp(settleBy);
        vm.expectRevert(abi.encodeWithSelector(DeliveryEscrow.NotYet.selector, settleBy));
        escrow.refund(number);
        vm.warp(settleBy + 1);
        escrow.refund(number);
        vm.assertEq(address(this).balance, 1 ether);
        vm.assertEq(address(escrow).balance, 0);
    }

    receive() external payable {}

    function test_CountsAResident() public {
        bytes32 answered = land("contains");
        vm.prank(account);
        ballot.vote(1, ref("near"), answered);
        vm.assertEq(ballot.votes(1), 1);
        vm.assertTrue(ballot.voted(account));
    }

    function test_CountsAPersonOnce() public {
        bytes32 answered = land("contains");
        vm.prank(account);
        ballot.vote(1, ref("near"), answered);
        // Tries to use the same answer again, and then a new one.
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(ResidentsVote.VotedBefore.selector, account));
        ballot.vote(0, ref("near"), answered);
        answered = landByProxy("contains");
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(ResidentsVote.VotedBefore.selector, account));
        ballot.vote(0, ref("near"), answered);
    }

    function test_DoesNotCountAnAnswerToAnotherAccount() public {
        bytes32 answered = land("contains");
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.WrongPlaceRecipient.selector, account, mallory));
        ballot.vote(0, ref("near"), answered);
        // Mallory's own attestation of a home does not help.
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.WrongProver.selector, mallory, prover));
        ballot.vote(0, ref("claimed"), answered);
    }

    function test_DoesNotCountAHomeOutside() public {
        bytes32 answered = land("containsFar");
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        ballot.vote(0, ref("far"), answered);
    }

    function test_DoesNotCountAHomeObservedAtAnotherTime() public {
        bytes32 answered = land("containsStale");
        uint256 time = GeoInputs.eventTime(eas.getAttestation(ref("stale")));
        bytes memory reason = abi.encodeWithSelector(
            GeoInputs.ObservedTooEarly.selector, time, block.timestamp - ballot.HOME_MAX_AGE()
        );
        vm.prank(account);
        vm.expectRevert(reason);
        ballot.vote(0, ref("stale"), answered);
        answered = landByProxy("containsForetold");
        time = GeoInputs.eventTime(eas.getAttestation(ref("foretold")));
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooLate.selector, time, block.timestamp));
        ballot.vote(0, ref("foretold"), answered);
    }

    function test_DoesNotCountARevokedHome() public {
        bytes32 answered = land("contains");
        revoke(locationSchema, ref("near"), prover);
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.PlaceRevoked.selector, block.timestamp));
        ballot.vote(0, ref("near"), answered);
    }

    function test_DoesNotCountUnknownChoicesOrLateVotes() public {
        bytes32 answered = land("contains");
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(ResidentsVote.NoSuchChoice.selector, 2, 2));
        ballot.vote(2, ref("near"), answered);
        uint256 closes = block.timestamp + 1 days;
        vm.warp(closes + 1);
        vm.prank(account);
        vm.expectRevert(abi.encodeWithSelector(ResidentsVote.Closed.selector, closes));
        ballot.vote(0, ref("near"), answered);
        vm.warp(closes);
        answered = answeredNow("contains");
        vm.prank(account);
        ballot.vote(0, ref("near"), answered);
        vm.assertEq(ballot.votes(0), 1);
    }
}
