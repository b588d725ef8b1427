// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {BooleanGeoResolver} from "@geospatial-attestation/contracts/src/GeoResolver.sol";
import {Attestation} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";

/// @title Visits
/// @notice Records who was within 500 m of a place, once per account. The question is
/// within(geometry: where the account is, target: the place, radius: 500 m), the recipient is the account.
contract Visits is BooleanGeoResolver {
    using GeoAnswers for GeoAnswers.BooleanAnswer;

    uint256 public constant RADIUS = 500_00; // centimetres
    uint256 public constant PLACE_MAX_AGE = 10 minutes;

    /// @notice The reference of the place (`POST /compute/v0/reference`, or `GeoInputs.point`).
    bytes32 public immutable place;
    /// @notice Who attests where accounts are, under the location schema v0.1.
    address public immutable prover;
    /// @notice When an account was at the place, Unix seconds; zero if it never was.
    mapping(address account => uint256) public visitedAt;

    constructor(Settings memory settings, bytes32 place_, address prover_) BooleanGeoResolver(settings) {
        place = place_;
        prover = prover_;
    }

    function _onAnswer(Attestation memory attestation, GeoAnswers.BooleanAnswer memory answer) internal override {
        address account = attestation.recipient;
        bytes32 whereabouts = answer.inputRefs[0];
        // What was asked and answered, with every input in its place.
        answer.requireWithin(whereabouts, place, RADIUS);
        // Who attested where the account is, to whom, when.
        Attestation memory seen = GeoInputs.requireAttestation(
            _eas, whereabouts, GeoInputs.Source(GeoInputs.LOCATION_SCHEMA, prover, account, PLACE_MAX_AGE)
        );
        // Attested is not observed: when the account was there.
        GeoInputs.requireObserved(seen, block.timestamp - PLACE_MAX_AGE, block.timestamp);
        visitedAt[account] = GeoInputs.eventTime(seen);
    }
}
