// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {NearbyToken} from "../examples/NearbyToken.sol";
import {GeoAnswers} from "../src/GeoAnswers.sol";
import {GeoInputs} from "../src/GeoInputs.sol";
import {GeoResolver} from "../src/GeoResolver.sol";
import {Attestation, IEAS, IPermissionedEIP712Proxy} from "../src/eas/IEAS.sol";
import {NaiveResolver, ParcelRegistry} from "./Harness.sol";
import {
    DelegatedRequest,
    IAttest,
    MultiDelegatedRequest,
    MultiRevocation,
    RequestData,
    RevocationData,
    Signature,
    World
} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice Tests of resolvers, at the addresses that the requests for their answers named. A resolver that
///   checks only the attester and the result accepts each of the attacks. The kit rejects them.
contract GeoResolverTest is World {
    NearbyToken private token;
    ParcelRegistry private parcels;
    bytes32 private tokenSchema;
    bytes32 private parcelSchema;

    function setUp() public override {
        super.setUp();
        token = NearbyToken(payable(vm.parseJsonAddress(json, ".token")));
        parcels = ParcelRegistry(vm.parseJsonAddress(json, ".parcels"));
        create(
            address(token),
            vm.getCode("NearbyToken.sol:NearbyToken"),
            abi.encode(settings(GeoResolver.Use.OncePerRecipient), ref("tower"), prover, locationSchema),
            signer
        );
        create(
            address(parcels),
            vm.getCode("Harness.sol:ParcelRegistry"),
            abi.encode(settings(GeoResolver.Use.OncePerInputs)),
            signer
        );
        tokenSchema = token.schema();
        parcelSchema = parcels.schema();
    }

    function settings(GeoResolver.Use use) private view returns (GeoResolver.Settings memory) {
        return GeoResolver.Settings(eas, signer, address(proxy), 10 minutes, use);
    }

    /// @dev A naive resolver at the token's address accepts the answer; the token rejects it with this error.
    function refuses(string memory name, bytes memory reason) private {
        uint256 snapshot = vm.snapshotState();
        beNaive();
        land(name);
        vm.assertEq(NaiveResolver(address(token)).minted(), 1);
        vm.revertToState(snapshot);
        vm.expectRevert(reason);
        land(name);
        vm.expectRevert(reason);
        landByProxy(name);
    }

    function beNaive() private {
        vm.etch(address(token), address(new NaiveResolver()).code);
        NaiveResolver(address(token)).allow(signer);
        NaiveResolver(address(token)).allow(address(proxy));
    }

    function attestationBy(address attester) private view returns (Attestation memory) {
        RequestData memory data = answer("token", "signature").data;
        return Attestation(
            keccak256("uid"),
            tokenSchema,
            uint64(block.timestamp),
            0,
            0,
            0,
            account,
            attester,
            true,
            data.data
        );
    }

    // Accepted answers

    function test_MintsForADirectAnswer() public {
        land("token");
        vm.assertEq(token.ownerOf(1), account);
    }

    function test_MintsForAnAnswerByTheProxy() public {
        landByProxy("token");
        vm.assertEq(token.ownerOf(1), account);
    }

    function test_MintsForSeveralAnswersAtOnce() public {
        proxy.multiAttestByDelegation(several("token", "tokenSecond"));
        vm.assertEq(token.minted(), 2);
        vm.assertEq(token.ownerOf(1), account);
    }

    function test_RegistersItsSchema() public view {
        vm.assertEq(tokenSchema, vm.parseJsonBytes32(json, ".answers.token.schema"));
        vm.assertEq(address(eas.getSchemaRegistry().getSchema(tokenSchema).resolver), address(token));
        vm.assertFalse(token.isPayable());
    }

    function test_DeploysIfItsSchemaIsRegisteredAlready() public {
        address target = address(0x1234);
        bytes32 schema = register(GeoAnswers.NUMERIC_SCHEMA, target);
        create(
            target,
            vm.getCode("Harness.sol:ParcelRegistry"),
            abi.encode(settings(GeoResolver.Use.OncePerInputs)),
            signer
        );
        vm.assertEq(ParcelRegistry(target).schema(), schema);
    }

    // Caller and attester

    function test_RefusesCallersOtherThanEas() public {
        Attestation memory attestation = attestationBy(signer);
        Attestation[] memory list = new Attestation[](1);
        list[0] = attestation;
        uint256[] memory values = new uint256[](1);
        bytes memory reason = abi.encodeWithSelector(GeoResolver.NotEAS.selector, address(this));
        uint256 snapshot = vm.snapshotState();
        beNaive();
        vm.assertTrue(NaiveResolver(address(token)).attest(attestation));
        vm.revertToState(snapshot);
        vm.expectRevert(reason);
        token.attest(attestation);
        vm.expectRevert(reason);
        token.multiAttest(list, values);
        vm.expectRevert(reason);
        token.revoke(attestation);
        vm.expectRevert(reason);
        token.multiRevoke(list, values);
    }

    function test_RefusesAForeignAttester() public {
        bytes memory data = answer("token", "signature").data.data;
        uint256 snapshot = vm.snapshotState();
        beNaive();
        NaiveResolver(address(token)).allow(mallory);
        attestAs(mallory, tokenSchema, account, 0, data);
        vm.assertEq(NaiveResolver(address(token)).minted(), 1);
        vm.revertToState(snapshot);
        vm.prank(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongAttester.selector, mallory, signer));
        direct.attest(requestOf(tokenSchema, data));
    }

    function test_RefusesTheProxyOfAnotherOwner() public {
        // The service has transferred the proxy, whose new owner attests anything.
        (address thief, uint256 key) = (vm.addr(0xBAD), 0xBAD);
        moveProxy(signer, thief);
        DelegatedRequest memory request = answer("token", "proxySignature");
        request.attester = thief;
        (request.signature.v, request.signature.r, request.signature.s) = vm.sign(key, proxyDigest(request));
        uint256 snapshot = vm.snapshotState();
        beNaive();
        proxy.attestByDelegation(request);
        vm.assertEq(NaiveResolver(address(token)).minted(), 1);
        vm.revertToState(snapshot);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongProxyOwner.selector, thief, signer));
        proxy.attestByDelegation(request);
    }

    function test_SeesNoAttesterInTheProxyWhileEasCallsIt() public {
        // This is the reason why the resolver checks the owner: getAttester is zero while EAS calls the
        // resolver.
        vm.etch(address(token), address(new AttesterProbe()).code);
        bytes32 uid = landByProxy("token");
        vm.assertTrue(AttesterProbe(address(token)).called());
        vm.assertEq(AttesterProbe(address(token)).seen(), address(0));
        vm.assertEq(IPermissionedEIP712Proxy(address(proxy)).getAttester(uid), signer);
    }

    // Schema, recipient, operation, inputs and result

    function test_RefusesAnotherSchemaThatNamesTheResolver() public {
        bytes32 schema = register(vm.parseJsonString(json, ".deniedFields"), address(token));
        refuses("tokenDenied", abi.encodeWithSelector(GeoAnswers.WrongSchema.selector, schema, tokenSchema));
    }

    function test_RefusesAnAnswerWithoutRecipient() public {
        refuses("tokenNobody", abi.encodeWithSelector(GeoResolver.MissingRecipient.selector));
    }

    function test_RefusesAnotherPlace() public {
        refuses(
            "tokenElsewhere",
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 1, ref("elsewhere"), ref("tower"))
        );
    }

    function test_RefusesAnotherRadius() public {
        refuses(
            "tokenWide",
            abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "within:200000000", "within:50000")
        );
    }

    function test_RefusesAnotherOperation() public {
        refuses(
            "tokenIntersects",
            abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "intersects", "within:50000")
        );
    }

    function test_RefusesSwappedInputs() public {
        refuses(
            "tokenSwapped",
            abi.encodeWithSelector(GeoAnswers.WrongInput.selector, 1, ref("near"), ref("tower"))
        );
    }

    function test_RefusesGeoJsonThatTheClientChose() public {
        refuses("tokenTyped", abi.encodeWithSelector(GeoInputs.UnknownPlace.selector, ref("tower")));
    }

    function test_RefusesALocationThatTheUserAttested() public {
        refuses("tokenClaimed", abi.encodeWithSelector(GeoInputs.WrongProver.selector, mallory, prover));
    }

    function test_RefusesTheLocationOfAnotherAccount() public {
        refuses(
            "tokenMallory", abi.encodeWithSelector(GeoInputs.WrongPlaceRecipient.selector, account, mallory)
        );
    }

    function test_RefusesANegativeResult() public {
        bytes memory reason = abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true);
        vm.expectRevert(reason);
        land("tokenFar");
        vm.expectRevert(reason);
        landByProxy("tokenFar");
    }

    function test_RefusesAStaleAnswer() public {
        uint256 computed = GeoAnswers.decodeBoolean(answer("token", "signature").data.data).timestamp;
        vm.warp(computed + 10 minutes + 1);
        refuses("token", abi.encodeWithSelector(GeoAnswers.AnswerTooOld.selector, computed, computed + 1));
    }

    function test_RefusesAnOldLocation() public {
        // The answer may be newer than the location: it is requested in the last second in which the location
        // is fresh, and used later.
        uint64 time = eas.getAttestation(ref("near")).time;
        vm.warp(time + 10 minutes + 1);
        bytes memory data = answer("token", "signature").data.data;
        GeoAnswers.BooleanAnswer memory given = GeoAnswers.decodeBoolean(data);
        data = abi.encode(given.result, given.inputRefs, block.timestamp, given.operation);
        vm.prank(signer);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.PlaceTooOld.selector, time, time + 1));
        direct.attest(requestOf(tokenSchema, data));
    }

    /// @dev The prover attested the location to the account a moment ago. It states where the account was 400
    ///   days ago, or will be.
    function test_RefusesALocationObservedAtAnotherTime() public {
        uint256 time = GeoInputs.eventTime(eas.getAttestation(ref("stale")));
        refuses(
            "tokenStale",
            abi.encodeWithSelector(
                GeoInputs.ObservedTooEarly.selector, time, block.timestamp - token.PLACE_MAX_AGE()
            )
        );
        time = GeoInputs.eventTime(eas.getAttestation(ref("foretold")));
        refuses(
            "tokenForetold", abi.encodeWithSelector(GeoInputs.ObservedTooLate.selector, time, block.timestamp)
        );
    }

    function test_RefusesARevokedLocation() public {
        revoke(locationSchema, ref("near"), prover);
        refuses("token", abi.encodeWithSelector(GeoInputs.PlaceRevoked.selector, block.timestamp));
    }

    // Single use

    function test_RefusesASecondAnswerForTheRecipient() public {
        bytes memory reason =
            abi.encodeWithSelector(GeoResolver.AlreadyUsed.selector, bytes32(uint256(uint160(account))));
        uint256 snapshot = vm.snapshotState();
        beNaive();
        land("token");
        landByProxy("token");
        landByProxy("tokenAgain");
        vm.assertEq(NaiveResolver(address(token)).minted(), 3);
        vm.revertToState(snapshot);
        land("token");
        // Submits this answer again in its other form (direct or proxy), and another answer.
        vm.expectRevert(reason);
        landByProxy("token");
        vm.expectRevert(reason);
        landByProxy("tokenAgain");
        vm.assertEq(token.minted(), 1);
    }

    function test_RefusesASecondAnswerInOneTransaction() public {
        vm.expectRevert(
            abi.encodeWithSelector(GeoResolver.AlreadyUsed.selector, bytes32(uint256(uint160(account))))
        );
        proxy.multiAttestByDelegation(several("token", "tokenAgain"));
    }

    function test_RefusesTheSameInputsForAnotherRecipient() public {
        land("parcel");
        vm.assertEq(parcels.ownerOf(ref("parcel")), account);
        bytes32 key = keccak256(abi.encodePacked(ref("parcel")));
        vm.expectRevert(abi.encodeWithSelector(GeoResolver.AlreadyUsed.selector, key));
        landByProxy("parcelMallory");
        vm.assertEq(parcels.ownerOf(ref("parcel")), account);
    }

    function test_DoesNotUseUpARefusedAnswer() public {
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        landByProxy("tokenFar");
        landByProxy("token");
        vm.assertEq(token.ownerOf(1), account);
    }

    function test_RefusesANumberBeyondTheLimit() public {
        uint256 area = GeoAnswers.decodeNumeric(answer("parcelHuge", "signature").data.data).result;
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.ResultTooLarge.selector, area, 1e10));
        land("parcelHuge");
    }

    function test_RefusesABooleanAsANumber() public {
        // The number one, which encodes like `true`. The service never signs this under a numeric schema.
        bytes memory data = answer("token", "signature").data.data;
        vm.prank(signer);
        // The decoder reverts without data.
        vm.expectRevert(bytes(""));
        direct.attest(requestOf(parcelSchema, data));
    }

    // Revocation

    function test_LetsTheAuthorDecideOnRevocation() public {
        bytes32 uid = land("parcel");
        parcels.lock();
        vm.expectRevert(IAttest.InvalidRevocation.selector);
        this.revokeOf(parcelSchema, uid);
        bytes32 minted = landByProxy("token");
        // Revoking undoes nothing, and does not let the account mint again. EAS records the proxy as the
        // attester.
        revoke(tokenSchema, minted, address(proxy));
        vm.assertEq(token.ownerOf(1), account);
        vm.expectRevert(
            abi.encodeWithSelector(GeoResolver.AlreadyUsed.selector, bytes32(uint256(uint160(account))))
        );
        landByProxy("tokenAgain");
    }

    function test_LetsTheAuthorDecideOnRevocationOfSeveralAnswers() public {
        MultiRevocation[] memory requests = new MultiRevocation[](1);
        requests[0] = MultiRevocation(parcelSchema, new RevocationData[](2));
        requests[0].data[0].uid = land("parcel");
        // Another parcel.
        bytes memory data = answer("parcel", "signature").data.data;
        GeoAnswers.NumericAnswer memory given = GeoAnswers.decodeNumeric(data);
        given.inputRefs[0] = keccak256("another parcel");
        data = abi.encode(given.result, given.units, given.inputRefs, given.timestamp, given.operation);
        requests[0].data[1].uid = attestAs(signer, parcelSchema, account, 0, data);
        parcels.lock();
        vm.prank(signer);
        vm.expectRevert(IAttest.InvalidRevocations.selector);
        direct.multiRevoke(requests);
        parcels.unlock();
        vm.prank(signer);
        direct.multiRevoke(requests);
        vm.assertTrue(eas.getAttestation(requests[0].data[1].uid).revocationTime != 0);
    }

    function revokeOf(bytes32 schema, bytes32 uid) external {
        revoke(schema, uid, signer);
    }

    // Construction

    function test_RefusesWrongSettings() public {
        GeoResolver.Settings memory wrong = settings(GeoResolver.Use.Unlimited);
        wrong.signer = address(0);
        vm.expectRevert(GeoResolver.MissingAddress.selector);
        new ParcelRegistry(wrong);
        wrong = settings(GeoResolver.Use.Unlimited);
        wrong.eas = IEAS(address(0));
        vm.expectRevert(GeoResolver.MissingAddress.selector);
        new ParcelRegistry(wrong);
        wrong = settings(GeoResolver.Use.Unlimited);
        wrong.signer = mallory;
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongProxyOwner.selector, signer, mallory));
        new ParcelRegistry(wrong);
        wrong = settings(GeoResolver.Use.Unlimited);
        wrong.eas = IEAS(mallory);
        vm.expectRevert(abi.encodeWithSelector(GeoResolver.WrongProxyEAS.selector, eas, mallory));
        new ParcelRegistry(wrong);
    }

    function test_AcceptsOnlyDirectAnswersWithoutAProxy() public {
        GeoResolver.Settings memory only = settings(GeoResolver.Use.OncePerRecipient);
        only.proxy = address(0);
        create(
            address(token),
            vm.getCode("NearbyToken.sol:NearbyToken"),
            abi.encode(only, ref("tower"), prover, locationSchema),
            signer
        );
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongAttester.selector, address(proxy), signer));
        landByProxy("token");
        land("token");
        vm.assertEq(token.ownerOf(1), account);
    }

    function several(string memory first, string memory second)
        private
        view
        returns (MultiDelegatedRequest[] memory requests)
    {
        DelegatedRequest memory one = answer(first, "proxySignature");
        DelegatedRequest memory other = answer(second, "proxySignature");
        requests = new MultiDelegatedRequest[](2);
        requests[0] = alone(one);
        requests[1] = alone(other);
    }

    function alone(DelegatedRequest memory request)
        private
        pure
        returns (MultiDelegatedRequest memory multi)
    {
        multi = MultiDelegatedRequest(
            request.schema, new RequestData[](1), new Signature[](1), request.attester, request.deadline
        );
        multi.data[0] = request.data;
        multi.signatures[0] = request.signature;
    }
}

/// @notice Takes a resolver's address and records the proxy's `getAttester` during an attestation.
contract AttesterProbe {
    bool public called;
    address public seen;

    function attest(Attestation calldata attestation) external payable returns (bool) {
        called = true;
        seen = IPermissionedEIP712Proxy(attestation.attester).getAttester(attestation.uid);
        return true;
    }
}
