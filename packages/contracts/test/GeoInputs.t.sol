// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoInputs} from "../src/GeoInputs.sol";
import {Reader} from "./Harness.sol";
import {World} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice Tests of reading the attestations of locations, and of hashing points like the service.
contract GeoInputsTest is World {
    Reader private reader;

    function setUp() public override {
        super.setUp();
        reader = new Reader(eas);
    }

    function source() private view returns (GeoInputs.Source memory) {
        return GeoInputs.Source(locationSchema, prover, account, 10 minutes);
    }

    function test_AcceptsALocationOfTheProver() public view {
        reader.place(ref("near"), source());
    }

    function test_RefusesALocationThatTheUserAttested() public {
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.WrongProver.selector, mallory, prover));
        reader.place(ref("claimed"), source());
    }

    function test_RefusesALocationOfAnotherAccount() public {
        GeoInputs.Source memory other = source();
        other.recipient = mallory;
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.WrongPlaceRecipient.selector, account, mallory));
        reader.place(ref("near"), other);
    }

    function test_RefusesAnotherSchema() public {
        bytes32 uid = attestAs(prover, booleanSchema, account, 0, "");
        vm.expectRevert(
            abi.encodeWithSelector(GeoInputs.WrongPlaceSchema.selector, booleanSchema, locationSchema)
        );
        reader.place(uid, source());
    }

    function test_RefusesAnOldLocation() public {
        uint64 time = eas.getAttestation(ref("near")).time;
        vm.warp(time + 10 minutes);
        reader.place(ref("near"), source());
        vm.warp(time + 10 minutes + 1);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.PlaceTooOld.selector, time, time + 1));
        reader.place(ref("near"), source());
    }

    function test_RefusesARevokedLocation() public {
        revoke(locationSchema, ref("near"), prover);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.PlaceRevoked.selector, block.timestamp));
        reader.place(ref("near"), source());
    }

    function test_RefusesAnExpiredLocation() public {
        uint64 expiration = eas.getAttestation(ref("expiring")).expirationTime;
        vm.warp(expiration - 1);
        reader.place(ref("expiring"), source());
        vm.warp(expiration);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.PlaceExpired.selector, expiration));
        reader.place(ref("expiring"), source());
    }

    function test_RefusesGeoJsonAndUnknownUids() public {
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.UnknownPlace.selector, ref("tower")));
        reader.place(ref("tower"), source());
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.UnknownPlace.selector, bytes32(0)));
        reader.place(0, GeoInputs.Source(0, address(0), address(0), type(uint256).max));
    }

    function test_RefusesALocationObservedAtAnotherTime() public {
        // The location is attested in the current second, so every other check passes.
        reader.place(ref("stale"), source());
        reader.place(ref("foretold"), source());
        (uint256 from, uint256 to) = (block.timestamp - 10 minutes, block.timestamp);
        reader.observed(ref("near"), source(), from, to);
        uint256 time = reader.eventTime(ref("stale"));
        vm.assertTrue(time < block.timestamp - 399 days);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooEarly.selector, time, from));
        reader.observed(ref("stale"), source(), from, to);
        time = reader.eventTime(ref("foretold"));
        vm.assertTrue(time > block.timestamp + 29 days);
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooLate.selector, time, to));
        reader.observed(ref("foretold"), source(), from, to);
    }

    /// @dev Any number can be attested, such as 0, milliseconds, or the largest number.
    function testFuzz_ReadsTheEventTime(uint256 time, string memory memo) public {
        vm.prank(prover);
        bytes32 uid = direct.attest(requestOf(locationSchema, located(time, memo)));
        vm.assertEq(reader.eventTime(uid), time);
        reader.observed(uid, source(), time, time);
        reader.observed(uid, source(), 0, type(uint256).max);
        if (time < type(uint256).max) {
            vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooEarly.selector, time, time + 1));
            reader.observed(uid, source(), time + 1, type(uint256).max);
        }
        if (time > 0) {
            vm.expectRevert(abi.encodeWithSelector(GeoInputs.ObservedTooLate.selector, time, time - 1));
            reader.observed(uid, source(), 0, time - 1);
        }
    }

    function test_ReturnsTheAttestationTimeIfTheSchemaHasNoEventTime() public {
        string[] memory fields = vm.parseJsonStringArray(json, ".untimedFields");
        vm.assertEq(fields.length, 4);
        for (uint256 i = 0; i < fields.length; ++i) {
            // The first word of the data would be read as the event time if the schema had one.
            vm.warp(block.timestamp + 1);
            bytes32 uid = attestAs(prover, register(fields[i], address(0)), account, 0, located(1, ""));
            vm.assertEq(reader.eventTime(uid), block.timestamp);
        }
    }

    function test_RefusesTheEventTimeOfOtherSchemasAndShortData() public {
        bytes32 other = register("uint256 eventTimestamp,string location", address(0));
        bytes32 uid = attestAs(prover, other, account, 0, located(block.timestamp, ""));
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.UnknownEventTime.selector, other));
        reader.eventTime(uid);
        uid = attestAs(prover, locationSchema, account, 0, new bytes(31));
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.UnknownEventTime.selector, locationSchema));
        reader.eventTime(uid);
        uid = attestAs(prover, locationSchema, account, 0, "");
        vm.expectRevert(abi.encodeWithSelector(GeoInputs.UnknownEventTime.selector, locationSchema));
        reader.eventTime(uid);
    }

    function located(uint256 time, string memory memo) private pure returns (bytes memory) {
        return abi.encode(
            time,
            "EPSG:4326",
            "geojson-point",
            '{"type":"Point","coordinates":[2.2987,48.8561]}',
            new string[](0),
            new bytes[](0),
            new string[](0),
            new string[](0),
            memo
        );
    }

    function test_HashesPointsLikeTheService() public view {
        int256[] memory longitudes = vm.parseJsonIntArray(json, ".points.longitudes");
        int256[] memory latitudes = vm.parseJsonIntArray(json, ".points.latitudes");
        bytes32[] memory refs = vm.parseJsonBytes32Array(json, ".points.refs");
        vm.assertTrue(refs.length > 20);
        for (uint256 i = 0; i < refs.length; ++i) {
            vm.assertEq(reader.point(longitudes[i], latitudes[i]), refs[i]);
        }
    }

    function testFuzz_PrintsPointsInTheirShortestForm(int64 longitudeE7, int64 latitudeE7) public view {
        int256 longitude = longitudeE7 % 180e7;
        int256 latitude = latitudeE7 % 90e7;
        vm.assertEq(
            reader.point(longitude, latitude),
            keccak256(
                bytes(
                    string.concat(
                        '{"coordinates":[', printed(longitude), ",", printed(latitude), '],"type":"Point"}'
                    )
                )
            )
        );
    }

    function test_RefusesPositionsOutOfRange() public {
        reader.point(180e7, -90e7);
        reader.point(-180e7, 90e7);
        int256[2][5] memory off = [
            [int256(180e7 + 1), int256(0)],
            [int256(-180e7 - 1), int256(0)],
            [int256(0), int256(90e7 + 1)],
            [int256(0), int256(-90e7 - 1)],
            [type(int256).min, int256(0)]
        ];
        for (uint256 i = 0; i < off.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(GeoInputs.InvalidPosition.selector, off[i][0], off[i][1]));
            reader.point(off[i][0], off[i][1]);
        }
    }

    /// @dev Uses another method than the library: pads with zeros, then removes them.
    function printed(int256 valueE7) private pure returns (string memory) {
        uint256 magnitude = uint256(valueE7 < 0 ? -valueE7 : valueE7);
        string memory text;
        if (magnitude == 0) return "0";
        if (magnitude < 10) {
            text = string.concat(vm.toString(magnitude), "e-7");
        } else {
            bytes memory padded = bytes(vm.toString(1e7 + magnitude % 1e7));
            uint256 end = padded.length;
            while (end > 1 && padded[end - 1] == "0") --end;
            bytes memory fraction = new bytes(end - 1);
            for (uint256 i = 1; i < end; ++i) {
                fraction[i - 1] = padded[i];
            }
            text = vm.toString(magnitude / 1e7);
            if (fraction.length != 0) text = string.concat(text, ".", string(fraction));
        }
        return valueE7 < 0 ? string.concat("-", text) : text;
    }
}
