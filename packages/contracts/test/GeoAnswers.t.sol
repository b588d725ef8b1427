// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "../src/GeoAnswers.sol";
import {FakeProxy, Naive, Reader} from "./Harness.sol";
import {DelegatedRequest, IAttest, World} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice Tests of reading answers from EAS. A contract that checks only the attester and the result accepts
///   each of the attacks. The kit rejects them.
contract GeoAnswersTest is World {
    uint256 private constant RADIUS = 500_00;
    uint256 private constant MAX_AGE = 1 hours;

    Reader private reader;
    Naive private naive;

    function setUp() public override {
        super.setUp();
        reader = new Reader(eas);
        naive = new Naive(eas, signer, address(proxy));
    }

    /// @dev Terms of answers for the account under the boolean schema, direct or through the proxy.
    function terms() private view returns (GeoAnswers.Terms memory) {
        return GeoAnswers.Terms(booleanSchema, signer, address(proxy), account, MAX_AGE);
    }

    function numericTerms() private view returns (GeoAnswers.Terms memory) {
        return GeoAnswers.Terms(numericSchema, signer, address(proxy), account, MAX_AGE);
    }

    function refusesWithin(bytes32 uid, bytes memory reason) private {
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(reason);
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
    }

    // Accepts answers of the service

    function test_AcceptsADirectAnswer() public {
        reader.within(land("within"), terms(), ref("near"), ref("tower"), RADIUS);
    }

    function test_AcceptsAnAnswerByTheProxy() public {
        reader.within(landByProxy("within"), terms(), ref("near"), ref("tower"), RADIUS);
    }

    function test_AcceptsEveryOperation() public {
        bytes32 zone = ref("zone");
        reader.contains(landByProxy("contains"), terms(), zone, ref("near"));
        reader.intersects(landByProxy("intersects"), terms(), zone, ref("half"));
        reader.disjoint(landByProxy("disjoint"), terms(), zone, ref("far"));
        reader.distanceAtMost(landByProxy("distance"), numericTerms(), ref("near"), ref("tower"), 500_00);
        reader.distanceAtLeast(
            landByProxy("distanceFar"), numericTerms(), ref("far"), ref("tower"), 800_000_00
        );
        bytes32 length = landByProxy("length");
        reader.lengthAtMost(length, numericTerms(), ref("line"), 5_000_00);
        reader.lengthAtLeast(length, numericTerms(), ref("line"), 4_000_00);
        bytes32 area = landByProxy("area");
        reader.areaBetween(area, numericTerms(), zone, 100e10, 200e10);
        reader.areaAtLeast(area, numericTerms(), zone, 100e10);
        reader.areaAtMost(area, numericTerms(), zone, 200e10);
    }

    function test_AcceptsAnAnswerWithoutRecipientIfNoneIsExpected() public {
        GeoAnswers.Terms memory nobody = terms();
        nobody.recipient = address(0);
        reader.within(landByProxy("withinNobody"), nobody, ref("near"), ref("tower"), RADIUS);
    }

    // Operation and inputs

    function test_RefusesAnotherPlace() public {
        refusesWithin(
            landByProxy("withinElsewhere"),
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 1, ref("elsewhere"), ref("tower"))
        );
    }

    function test_RefusesGeoJsonThatTheClientChose() public {
        refusesWithin(
            landByProxy("withinTyped"),
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 0, ref("tower"), ref("near"))
        );
    }

    function test_RefusesAnotherRadius() public {
        bytes32 uid = landByProxy("withinWide");
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "within:200000000", "within:50000")
        );
        reader.within(uid, terms(), ref("far"), ref("tower"), RADIUS);
    }

    function test_RefusesARadiusThatTheExpectedOneIsAPrefixOf() public {
        bytes32 uid = landByProxy("withinTenfold");
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "within:500000", "within:50000")
        );
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
    }

    function test_RefusesAnotherPolygon() public {
        bytes32 uid = landByProxy("containsVast");
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 0, ref("vastTyped"), ref("zone"))
        );
        reader.contains(uid, terms(), ref("zone"), ref("far"));
    }

    function test_RefusesAnotherOperation() public {
        // Half of the geometry lies in the zone, so the two intersect.
        bytes32 uid = landByProxy("intersects");
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "intersects", "contains"));
        reader.contains(uid, terms(), ref("zone"), ref("half"));
    }

    function test_RefusesSwappedInputs() public {
        // This polygon is so large that it contains the zone.
        bytes32 uid = landByProxy("containsSwapped");
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 0, ref("vast"), ref("zone")));
        reader.contains(uid, terms(), ref("zone"), ref("vast"));
    }

    function test_RefusesANumberOfAnotherOperation() public {
        // The length of a line of 4 km, submitted as a distance.
        bytes32 uid = landByProxy("length");
        vm.assertTrue(naive.acceptsAtMost(uid, 5_000_00));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "length", "distance"));
        reader.distanceAtMost(uid, numericTerms(), ref("far"), ref("tower"), 5_000_00);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "length", "area"));
        reader.areaAtMost(uid, numericTerms(), ref("line"), 5_000_00);
    }

    function test_RefusesAnotherNumberOfInputs() public {
        bytes memory data = abi.encode(true, new bytes32[](3), block.timestamp, "contains");
        bytes32 uid = attestAs(signer, booleanSchema, account, 0, data);
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongInputCount.selector, 3, 2));
        reader.contains(uid, terms(), 0, 0);
        data = abi.encode(1, "centimeters", new bytes32[](0), block.timestamp, "length");
        uid = attestAs(signer, numericSchema, account, 0, data);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongInputCount.selector, 0, 1));
        reader.lengthAtMost(uid, numericTerms(), 0, 1);
    }

    function test_RefusesOtherUnits() public {
        bytes32[] memory refs = new bytes32[](1);
        bytes memory data = abi.encode(5, "meters", refs, block.timestamp, "length");
        bytes32 uid = attestAs(signer, numericSchema, account, 0, data);
        vm.assertTrue(naive.acceptsAtMost(uid, 10));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongUnits.selector, "meters", "centimeters"));
        reader.lengthAtMost(uid, numericTerms(), 0, 10);
    }

    // Result

    function test_RefusesANegativeResult() public {
        bytes32 uid = landByProxy("withinFar");
        vm.assertTrue(naive.acceptsAnything(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        reader.within(uid, terms(), ref("far"), ref("tower"), RADIUS);
        uid = landByProxy("disjoint");
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        reader.intersects(uid, terms(), ref("zone"), ref("far"));
        uid = landByProxy("intersects");
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, true, false));
        reader.disjoint(uid, terms(), ref("zone"), ref("half"));
    }

    function test_RefusesNumbersBeyondTheLimits() public {
        bytes32 uid = landByProxy("distance");
        uint256 result = GeoAnswers.decodeNumeric(eas.getAttestation(uid).data).result;
        vm.assertTrue(naive.acceptsAnything(uid));
        reader.distanceAtMost(uid, numericTerms(), ref("near"), ref("tower"), result);
        reader.distanceAtLeast(uid, numericTerms(), ref("near"), ref("tower"), result);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooLarge.selector, result, result - 1));
        reader.distanceAtMost(uid, numericTerms(), ref("near"), ref("tower"), result - 1);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooSmall.selector, result, result + 1));
        reader.distanceAtLeast(uid, numericTerms(), ref("near"), ref("tower"), result + 1);
    }

    // Every function checks operation, inputs and result

    function expectInput(uint256 index, string memory actual, string memory expected) private {
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, index, ref(actual), ref(expected))
        );
    }

    function expectOperation(string memory actual, string memory expected) private {
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, actual, expected));
    }

    function test_EveryBooleanFunctionChecksEverything() public {
        (bytes32 zone, bytes32 near, bytes32 far) = (ref("zone"), ref("near"), ref("far"));
        bytes32 contained = landByProxy("contains");
        bytes32 outside = landByProxy("containsFar");
        bytes32 touching = landByProxy("intersects");
        bytes32 apart = landByProxy("disjoint");
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        reader.contains(outside, terms(), zone, far);
        expectOperation("contains", "intersects");
        reader.intersects(contained, terms(), zone, near);
        expectInput(1, "half", "near");
        reader.intersects(touching, terms(), zone, near);
        expectOperation("contains", "intersects");
        reader.disjoint(outside, terms(), zone, far);
        expectInput(1, "far", "near");
        reader.disjoint(apart, terms(), zone, near);
    }

    function test_EveryNumericFunctionChecksEverything() public {
        GeoAnswers.Terms memory t = numericTerms();
        (bytes32 zone, bytes32 near, bytes32 far) = (ref("zone"), ref("near"), ref("far"));
        (bytes32 tower, bytes32 line) = (ref("tower"), ref("line"));
        bytes32 distance = landByProxy("distanceFar");
        bytes32 length = landByProxy("length");
        bytes32 area = landByProxy("area");
        expectInput(0, "far", "near");
        reader.distanceAtMost(distance, t, near, tower, 1e10);
        expectInput(1, "tower", "near");
        reader.distanceAtLeast(distance, t, far, near, 1);
        expectOperation("length", "distance");
        reader.distanceAtLeast(length, t, line, line, 1);
        expectInput(0, "line", "zone");
        reader.lengthAtMost(length, t, zone, 1e10);
        expectInput(0, "line", "zone");
        reader.lengthAtLeast(length, t, zone, 1);
        expectOperation("area", "length");
        reader.lengthAtMost(area, t, zone, type(uint256).max);
        expectOperation("area", "length");
        reader.lengthAtLeast(area, t, zone, 1);
        expectInput(0, "zone", "line");
        reader.areaBetween(area, t, line, 0, type(uint256).max);
        uint256 centimeters = GeoAnswers.decodeNumeric(eas.getAttestation(length).data).result;
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.ResultTooLarge.selector, centimeters, centimeters - 1)
        );
        reader.lengthAtMost(length, t, line, centimeters - 1);
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.ResultTooSmall.selector, centimeters, centimeters + 1)
        );
        reader.lengthAtLeast(length, t, line, centimeters + 1);
        uint256 squares = GeoAnswers.decodeNumeric(eas.getAttestation(area).data).result;
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooLarge.selector, squares, squares - 1));
        reader.areaAtMost(area, t, zone, squares - 1);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooSmall.selector, squares, squares + 1));
        reader.areaAtLeast(area, t, zone, squares + 1);
    }

    function test_RefusesOtherUnitsOfEveryOperation() public {
        bytes32[] memory two = new bytes32[](2);
        bytes memory data = abi.encode(1, "meters", two, block.timestamp, "distance");
        bytes32 uid = attestAs(signer, numericSchema, account, 0, data);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongUnits.selector, "meters", "centimeters"));
        reader.distanceAtMost(uid, numericTerms(), 0, 0, 1);
        data = abi.encode(1, "square_meters", new bytes32[](1), block.timestamp, "area");
        uid = attestAs(signer, numericSchema, account, 0, data);
        vm.expectRevert(
            abi.encodeWithSelector(GeoAnswers.WrongUnits.selector, "square_meters", "square_centimeters")
        );
        reader.areaAtMost(uid, numericTerms(), 0, 1);
    }

    // Recipient, age, revocation

    function test_RefusesAnotherRecipient() public {
        refusesWithin(
            landByProxy("withinMallory"),
            abi.encodeWithSelector(GeoAnswers.WrongRecipient.selector, mallory, account)
        );
    }

    function test_RefusesAnAnswerWithoutRecipient() public {
        refusesWithin(
            landByProxy("withinNobody"),
            abi.encodeWithSelector(GeoAnswers.WrongRecipient.selector, address(0), account)
        );
    }

    function test_RefusesAnotherSchema() public {
        // The schema has equal types under other names. The service signs under any schema with its types.
        bytes32 schema = register(vm.parseJsonString(json, ".deniedFields"), address(0));
        refusesWithin(
            landByProxy("withinDenied"),
            abi.encodeWithSelector(GeoAnswers.WrongSchema.selector, schema, booleanSchema)
        );
    }

    function test_RefusesAStaleAnswer() public {
        bytes32 uid = land("within");
        uint256 computed = GeoAnswers.decodeBoolean(eas.getAttestation(uid).data).timestamp;
        vm.warp(computed + MAX_AGE);
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
        vm.warp(computed + MAX_AGE + 1);
        refusesWithin(uid, abi.encodeWithSelector(GeoAnswers.AnswerTooOld.selector, computed, computed + 1));
    }

    function test_RefusesAStaleNumber() public {
        bytes32 uid = land("distance");
        uint256 computed = GeoAnswers.decodeNumeric(eas.getAttestation(uid).data).timestamp;
        vm.warp(computed + MAX_AGE + 1);
        vm.assertTrue(naive.acceptsAtMost(uid, 500_00));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.AnswerTooOld.selector, computed, computed + 1));
        reader.distanceAtMost(uid, numericTerms(), ref("near"), ref("tower"), 500_00);
    }

    function test_RefusesAnAnswerThatLandsLate() public {
        // Without a deadline, as in EAS 0.26, an answer may land long after it was signed.
        bytes memory data = answer("within", "signature").data.data;
        vm.warp(block.timestamp + 30 days);
        bytes32 uid = attestAs(signer, booleanSchema, account, 0, data);
        uint256 computed = GeoAnswers.decodeBoolean(data).timestamp;
        refusesWithin(
            uid, abi.encodeWithSelector(GeoAnswers.AnswerTooOld.selector, computed, block.timestamp - MAX_AGE)
        );
    }

    function test_RefusesAnAnswerFromTheFuture() public {
        bytes32 uid = land("within");
        uint256 computed = GeoAnswers.decodeBoolean(eas.getAttestation(uid).data).timestamp;
        vm.warp(computed - 60);
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
        vm.warp(computed - 61);
        refusesWithin(
            uid, abi.encodeWithSelector(GeoAnswers.AnswerFromFuture.selector, computed, computed - 1)
        );
    }

    function test_RefusesARevokedAnswer() public {
        bytes32 uid = land("within");
        revoke(booleanSchema, uid, signer);
        refusesWithin(uid, abi.encodeWithSelector(GeoAnswers.AnswerRevoked.selector, block.timestamp));
    }

    function test_RefusesAnExpiredAnswer() public {
        uint64 expiration = uint64(block.timestamp + 10);
        bytes memory data = answer("within", "signature").data.data;
        bytes32 uid = attestAs(signer, booleanSchema, account, expiration, data);
        vm.warp(expiration - 1);
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
        vm.warp(expiration);
        refusesWithin(uid, abi.encodeWithSelector(GeoAnswers.AnswerExpired.selector, expiration));
    }

    function test_RefusesAnUnknownUid() public {
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.UnknownAttestation.selector, keccak256("")));
        reader.within(keccak256(""), terms(), ref("near"), ref("tower"), RADIUS);
        // An unknown attestation is empty and has the UID zero, so it would match terms without attester and
        // recipient.
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.UnknownAttestation.selector, bytes32(0)));
        reader.within(0, GeoAnswers.Terms(0, address(0), address(0), address(0), MAX_AGE), 0, 0, RADIUS);
    }

    // Attester

    function test_RefusesAForeignAttester() public {
        bytes memory data = answer("within", "signature").data.data;
        bytes32 uid = attestAs(mallory, booleanSchema, account, 0, data);
        vm.assertTrue(naive.acceptsOfAnybody(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongAttester.selector, mallory, signer));
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
    }

    function test_RefusesTheProxyIfOnlyDirectAnswersAreAccepted() public {
        bytes32 uid = landByProxy("within");
        vm.assertTrue(naive.accepts(uid));
        GeoAnswers.Terms memory only = terms();
        only.proxy = address(0);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongAttester.selector, address(proxy), signer));
        reader.within(uid, only, ref("near"), ref("tower"), RADIUS);
    }

    function test_RefusesAnUnknownProxy() public {
        FakeProxy fake = new FakeProxy(signer);
        bytes memory data = answer("within", "signature").data.data;
        bytes32 uid =
            fake.attest(address(eas), abi.encodeCall(IAttest.attest, (requestOf(booleanSchema, data))));
        vm.assertTrue(naive.acceptsByAnyProxy(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongAttester.selector, address(fake), signer));
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
    }

    function test_RefusesAnAttestationOfTheProxyForAnotherOwner() public {
        // The proxy once had another owner, who could sign anything. Now it belongs to the service again.
        (address thief, uint256 key) = (vm.addr(0xBAD), 0xBAD);
        moveProxy(signer, thief);
        DelegatedRequest memory request = answer("within", "proxySignature");
        request.attester = thief;
        (request.signature.v, request.signature.r, request.signature.s) = vm.sign(key, proxyDigest(request));
        bytes32 uid = proxy.attestByDelegation(request);
        moveProxy(thief, signer);
        vm.assertTrue(naive.accepts(uid));
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongProxyAttester.selector, thief, signer));
        reader.within(uid, terms(), ref("near"), ref("tower"), RADIUS);
        // Earlier answers of the service remain valid.
        reader.within(landByProxy("within"), terms(), ref("near"), ref("tower"), RADIUS);
    }

    function test_DoesNotLandAnAnswerOfAnotherChain() public {
        DelegatedRequest memory request = answer("otherChain", "signature");
        vm.assertTrue(
            naive.acceptsSignature(
                vm.parseJsonBytes32(json, ".otherChainDomain"),
                vm.parseJsonBytes32(json, ".otherChainStructHash"),
                request.signature.v,
                request.signature.r,
                request.signature.s
            )
        );
        vm.expectRevert(IAttest.InvalidSignature.selector);
        direct.attestByDelegation(request);
        vm.expectRevert(IAttest.InvalidSignature.selector);
        proxy.attestByDelegation(request);
    }

    function test_RefusesADirectSignatureThroughTheProxyAndViceVersa() public {
        DelegatedRequest memory request = answer("within", "signature");
        vm.expectRevert(IAttest.InvalidSignature.selector);
        proxy.attestByDelegation(request);
        request = answer("within", "proxySignature");
        vm.expectRevert(IAttest.InvalidSignature.selector);
        direct.attestByDelegation(request);
    }

    /// forge-config: default.fuzz.runs = 64
    function testFuzz_RefusesAnAnswerWithAChangedBit(uint256 bit) public {
        DelegatedRequest memory request = answer("within", "proxySignature");
        bit %= request.data.data.length * 8;
        request.data.data[bit / 8] ^= bytes1(uint8(2 ** (bit % 8)));
        vm.expectRevert(IAttest.InvalidSignature.selector);
        proxy.attestByDelegation(request);
    }

    // Properties

    /// forge-config: default.fuzz.runs = 512
    function testFuzz_RequireWithinAcceptsOnlyTheExactClaim(
        GeoAnswers.BooleanAnswer memory given,
        bytes32 geometry,
        bytes32 target,
        uint256 radius,
        uint8 right
    ) public {
        // Each bit makes one part of the answer correct, so all combinations occur.
        if (right & 1 != 0) given.result = true;
        if (right & 2 != 0) given.operation = string.concat("within:", vm.toString(radius));
        if (right & 4 != 0) given.inputRefs = new bytes32[](2);
        if (right & 8 != 0 && given.inputRefs.length > 0) given.inputRefs[0] = geometry;
        if (right & 16 != 0 && given.inputRefs.length > 1) given.inputRefs[1] = target;
        bytes32[] memory inputs = new bytes32[](2);
        (inputs[0], inputs[1]) = (geometry, target);
        bool holds = keccak256(abi.encode(given.result, given.operation, given.inputRefs))
            == keccak256(abi.encode(true, string.concat("within:", vm.toString(radius)), inputs));
        if (!holds) vm.expectRevert();
        reader.checkWithin(given, geometry, target, radius);
    }

    function testFuzz_RequireAreaAcceptsOnlyResultsBetweenTheLimits(
        uint256 result,
        uint256 least,
        uint256 most
    ) public {
        bytes32[] memory inputs = new bytes32[](1);
        if (result < least) {
            vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooSmall.selector, result, least));
        } else if (result > most) {
            vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooLarge.selector, result, most));
        }
        reader.checkArea(
            GeoAnswers.NumericAnswer(result, "square_centimeters", inputs, 0, "area"), 0, least, most
        );
    }

    function testFuzz_RequireFreshAcceptsFromMaxAgeAgoToAMinuteAhead(
        uint256 timestamp,
        uint64 time,
        uint256 maxAge
    ) public {
        vm.warp(time);
        bool tooOld = timestamp < time && time - timestamp > maxAge;
        if (tooOld || timestamp > uint256(time) + 60) vm.expectRevert();
        reader.fresh(timestamp, maxAge);
    }

    function testFuzz_DecodesEncodedAnswers(GeoAnswers.NumericAnswer memory given) public view {
        bytes memory data =
            abi.encode(given.result, given.units, given.inputRefs, given.timestamp, given.operation);
        vm.assertEq(keccak256(abi.encode(reader.decodeNumeric(data))), keccak256(abi.encode(given)));
        GeoAnswers.BooleanAnswer memory answered = reader.decodeBoolean(
            abi.encode(given.result % 2 == 1, given.inputRefs, given.timestamp, given.operation)
        );
        vm.assertEq(keccak256(abi.encode(answered.inputRefs)), keccak256(abi.encode(given.inputRefs)));
        vm.assertEq(answered.timestamp, given.timestamp);
    }
}
