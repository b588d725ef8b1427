// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {GeoResolver} from "@geospatial-attestation/contracts/src/GeoResolver.sol";
import {
    Attestation,
    IEAS,
    ISchemaRegistry,
    ISchemaResolver,
    SchemaRecord
} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";
import {Visits} from "../src/Visits.sol";

/// @notice Cheatcodes of forge that this test uses. forge-std has all of them.
interface Vm {
    function expectRevert(bytes calldata reason) external;
    function warp(uint256 time) external;
}

/// @notice Fake EAS and registry, with the attestations of this test. They check no signatures. The real
/// contracts do, and the service signs real answers: test with both on the local chain of `npm start` before
/// you deploy.
contract FakeEAS is IEAS, ISchemaRegistry {
    mapping(bytes32 uid => Attestation) private _attestations;
    mapping(bytes32 uid => SchemaRecord) private _schemas;

    function getSchemaRegistry() external view returns (ISchemaRegistry) {
        return this;
    }

    function getAttestation(bytes32 uid) external view returns (Attestation memory) {
        return _attestations[uid];
    }

    function getSchema(bytes32 uid) external view returns (SchemaRecord memory) {
        return _schemas[uid];
    }

    function register(string calldata schema, ISchemaResolver resolver, bool revocable) external returns (bytes32 uid) {
        uid = keccak256(abi.encodePacked(schema, resolver, revocable));
        _schemas[uid] = SchemaRecord(uid, resolver, revocable, schema);
    }

    /// @notice Attests on behalf of `attester`. Calls the schema's resolver, if it has one, like EAS.
    function attestAs(address attester, bytes32 schema, address recipient, bytes memory data)
        external
        returns (bytes32 uid)
    {
        uid = keccak256(abi.encode(attester, schema, recipient, block.timestamp, data));
        _attestations[uid] = Attestation(uid, schema, uint64(block.timestamp), 0, 0, 0, recipient, attester, true, data);
        ISchemaResolver resolver = _schemas[schema].resolver;
        if (address(resolver) != address(0)) require(resolver.attest(_attestations[uid]), "refused");
    }
}

contract VisitsTest {
    Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    address private constant SIGNER = address(0x51);
    address private constant PROVER = address(0x52);
    address private constant ACCOUNT = address(0xACC);

    FakeEAS private eas;
    Visits private visits;
    bytes32 private tower;
    bytes32 private schema;

    function setUp() public {
        vm.warp(1_800_000_000);
        eas = new FakeEAS();
        tower = GeoInputs.point(22945000, 488584000);
        visits = new Visits(
            GeoResolver.Settings(eas, SIGNER, address(0), 10 minutes, GeoResolver.Use.OncePerRecipient), tower, PROVER
        );
        schema = visits.schema();
    }

    /// @dev Position of the account, attested by `attester` now, observed at `eventTime`.
    function located(address attester, uint256 eventTime) private returns (bytes32) {
        bytes memory data = abi.encode(
            eventTime,
            "EPSG:4326",
            "geojson-point",
            '{"type":"Point","coordinates":[2.2987,48.8561]}',
            new string[](0),
            new bytes[](0),
            new string[](0),
            new string[](0),
            ""
        );
        return eas.attestAs(attester, GeoInputs.LOCATION_SCHEMA, ACCOUNT, data);
    }

    /// @dev A fake answer with the content that the service would sign.
    function answer(bool result, bytes32 geometry, string memory operation) private returns (bytes32) {
        bytes32[] memory inputRefs = new bytes32[](2);
        (inputRefs[0], inputRefs[1]) = (geometry, tower);
        return eas.attestAs(SIGNER, schema, ACCOUNT, abi.encode(result, inputRefs, block.timestamp, operation));
    }

    function test_RecordsAVisit() public {
        answer(true, located(PROVER, block.timestamp - 60), "within:50000");
        require(visits.visitedAt(ACCOUNT) == block.timestamp - 60, "not recorded");
    }

    function test_RefusesALocationObservedLongAgo() public {
        uint256 observed = block.timestamp - 400 days;
        bytes32 place = located(PROVER, observed);
        vm.expectRevert(
            abi.encodeWithSelector(GeoInputs.ObservedTooEarly.selector, observed, block.timestamp - 10 minutes)
        );
        answer(true, place, "within:50000");
    }

    function test_RefusesALocationThatTheAccountAttested() public {
        bytes32 place = located(ACCOUNT, block.timestamp);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.WrongProver.selector, ACCOUNT, PROVER));
        answer(true, place, "within:50000");
    }

    function test_RefusesAnotherRadiusAndANegativeResult() public {
        bytes32 place = located(PROVER, block.timestamp);
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongOperation.selector, "within:500000", "within:50000"));
        answer(true, place, "within:500000");
        vm.expectRevert(abi.encodeWithSelector(GeoAnswers.WrongResult.selector, false, true));
        answer(false, place, "within:50000");
    }
}
