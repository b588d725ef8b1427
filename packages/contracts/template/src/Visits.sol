// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {BooleanGeoResolver} from "@geospatial-attestation/contracts/src/GeoResolver.sol";
import {Attestation} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";

/// @title Visits
/// @notice Records the accounts that were within 500 m of a location, once per account. The answer is
/// within(geometry: the account's position, target: the location, radius: 500 m), and its recipient is the account.
contract Visits is BooleanGeoResolver {
    using GeoAnswers for GeoAnswers.BooleanAnswer;

    uint256 public constant RADIUS = 500_00; // centimetres
    uint256 public constant PLACE_MAX_AGE = 10 minutes;

    /// @notice Reference of the location (`POST /compute/v0/reference`, or `GeoInputs.point`).
    bytes32 public immutable place;
    /// @notice Attester of the accounts' positions, under the location schema v0.1.
    address public immutable prover;
    /// @notice Time at which an account was at the location, Unix seconds; zero if it never was.
    mapping(address account => uint256) public visitedAt;

    constructor(Settings memory settings, bytes32 place_, address prover_) BooleanGeoResolver(settings) {
        place = place_;
        prover = prover_;
    }

    function _onAnswer(Attestation memory attestation, GeoAnswers.BooleanAnswer memory answer) internal override {
        address account = attestation.recipient;
        bytes32 whereabouts = answer.inputRefs[0];
        // Checks operation, radius and result, and every input in its position.
        answer.requireWithin(whereabouts, place, RADIUS);
        // Checks attester, recipient and age of the account's position.
        Attestation memory seen = GeoInputs.requireAttestation(
            _eas, whereabouts, GeoInputs.Source(GeoInputs.LOCATION_SCHEMA, prover, account, PLACE_MAX_AGE)
        );
        // Attested is not observed, so the event time is checked too.
        GeoInputs.requireObserved(seen, block.timestamp - PLACE_MAX_AGE, block.timestamp);
        visitedAt[account] = GeoInputs.eventTime(seen);
    }
}
