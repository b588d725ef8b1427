// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DeliveryEscrow} from "../examples/DeliveryEscrow.sol";
import {NearbyToken} from "../examples/NearbyToken.sol";
import {ResidentsVote} from "../examples/ResidentsVote.sol";
import {GeoAnswers} from "../src/GeoAnswers.sol";
import {GeoInputs} from "../src/GeoInputs.sol";
import {GeoResolver} from "../src/GeoResolver.sol";
import {NaiveResolver, Reader} from "./Harness.sol";
import {DelegatedRequest, World} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice Gas of the checks, recorded in .gas-snapshot/: execution from cold storage of all contracts, without the
/// transaction's own 21,000 and its calldata.
contract GasTest is World {
    Reader private reader;
    NearbyToken private token;

    function setUp() public override {
        super.setUp();
        reader = new Reader(eas);
        token = NearbyToken(payable(vm.parseJsonAddress(json, ".token")));
        create(
            address(token),
            vm.getCode("NearbyToken.sol:NearbyToken"),
            abi.encode(
                GeoResolver.Settings(
                    eas, signer, address(proxy), 10 minutes, GeoResolver.Use.OncePerRecipient
                ),
                ref("tower"),
                prover,
                locationSchema
            ),
            signer
        );
    }

    /// @dev Makes accessed accounts cold again, so that the measured call costs as much as in its own transaction.
    function cold(address measured) private {
        vm.cool(address(eas));
        vm.cool(address(eas.getSchemaRegistry()));
        vm.cool(address(proxy));
        vm.cool(address(token));
        vm.cool(measured);
    }

    function terms(bytes32 schema) private view returns (GeoAnswers.Terms memory) {
        return GeoAnswers.Terms(schema, signer, address(proxy), account, 1 hours);
    }

    function test_ReadWithin() public {
        bytes32 uid = land("within");
        (GeoAnswers.Terms memory t, bytes32 near, bytes32 tower) =
            (terms(booleanSchema), ref("near"), ref("tower"));
        cold(address(reader));
        reader.within(uid, t, near, tower, 500_00);
        vm.snapshotGasLastCall("read within, direct");
    }

    function test_ReadWithinByProxy() public {
        bytes32 uid = landByProxy("within");
        (GeoAnswers.Terms memory t, bytes32 near, bytes32 tower) =
            (terms(booleanSchema), ref("near"), ref("tower"));
        cold(address(reader));
        reader.within(uid, t, near, tower, 500_00);
        vm.snapshotGasLastCall("read within, by the proxy");
    }

    function test_ReadDistance() public {
        bytes32 uid = land("distance");
        (GeoAnswers.Terms memory t, bytes32 near, bytes32 tower) =
            (terms(numericSchema), ref("near"), ref("tower"));
        cold(address(reader));
        reader.distanceAtMost(uid, t, near, tower, 500_00);
        vm.snapshotGasLastCall("read distance, direct");
    }

    function test_Point() public {
        cold(address(reader));
        reader.point(22945000, 488584000);
        vm.snapshotGasLastCall("hash a point");
    }

    function test_Land() public {
        DelegatedRequest memory request = answer("within", "signature");
        cold(address(direct));
        direct.attestByDelegation(request);
        vm.snapshotGasLastCall("land without resolver, direct");
    }

    function test_LandByProxy() public {
        DelegatedRequest memory request = answer("within", "proxySignature");
        cold(address(proxy));
        proxy.attestByDelegation(request);
        vm.snapshotGasLastCall("land without resolver, by the proxy");
    }

    function test_Mint() public {
        DelegatedRequest memory request = answer("token", "signature");
        cold(address(direct));
        direct.attestByDelegation(request);
        vm.snapshotGasLastCall("land and mint, direct");
    }

    function test_MintByProxy() public {
        DelegatedRequest memory request = answer("token", "proxySignature");
        cold(address(proxy));
        proxy.attestByDelegation(request);
        vm.snapshotGasLastCall("land and mint, by the proxy");
    }

    function test_MintWithoutChecks() public {
        vm.etch(address(token), address(new NaiveResolver()).code);
        NaiveResolver(address(token)).allow(signer);
        DelegatedRequest memory request = answer("token", "signature");
        cold(address(direct));
        direct.attestByDelegation(request);
        vm.snapshotGasLastCall("land with a resolver that only counts, direct");
    }

    function test_Escrow() public {
        DeliveryEscrow escrow = DeliveryEscrow(vm.parseJsonAddress(json, ".escrow"));
        bytes memory parameters = abi.encode(eas, signer, proxy, booleanSchema, locationSchema);
        create(address(escrow), type(DeliveryEscrow).creationCode, parameters, signer);
        (bytes32 zone, bytes32 delivered) = (ref("zone"), ref("delivered"));
        bytes32 uid = land("delivered");
        uint64 present = uint64(block.timestamp);
        vm.warp(GeoInputs.eventTime(eas.getAttestation(delivered)));
        uint256 number = escrow.place{value: 1}(account, prover, zone, present);
        vm.warp(present);
        cold(address(escrow));
        escrow.settle(number, delivered, uid);
        vm.snapshotGasLastCall("settle a delivery");
    }

    function test_Vote() public {
        ResidentsVote ballot = new ResidentsVote(
            eas,
            signer,
            address(proxy),
            booleanSchema,
            locationSchema,
            ResidentsVote.Ballot(ref("zone"), prover, uint64(block.timestamp), 2)
        );
        bytes32 near = ref("near");
        bytes32 uid = land("contains");
        cold(address(ballot));
        vm.prank(account);
        ballot.vote(1, near, uid);
        vm.snapshotGasLastCall("vote");
    }
}
