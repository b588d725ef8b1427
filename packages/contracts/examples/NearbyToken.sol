// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {BooleanGeoResolver} from "@geospatial-attestation/contracts/src/GeoResolver.sol";
import {Attestation} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title NearbyToken
/// @notice A token for every account that was within 500 m of a location, once per account. The answer is
/// within(geometry: the account's position, target: the location, radius: 500 m), and its recipient is the account.
contract NearbyToken is ERC721, BooleanGeoResolver {
    using GeoAnswers for GeoAnswers.BooleanAnswer;

    uint256 public constant RADIUS = 500_00; // centimetres
    /// @notice A position ten minutes old is near enough to the current one.
    uint256 public constant PLACE_MAX_AGE = 10 minutes;

    /// @notice Reference of the location.
    bytes32 public immutable place;
    /// @notice Attester of the accounts' positions, and their location schema.
    address public immutable prover;
    bytes32 public immutable locationSchema;
    /// @notice Number of tokens. Their ids count from 1.
    uint256 public minted;

    constructor(Settings memory settings, bytes32 place_, address prover_, bytes32 locationSchema_)
        ERC721("Nearby", "NEAR")
        BooleanGeoResolver(settings)
    {
        place = place_;
        prover = prover_;
        locationSchema = locationSchema_;
    }

    function _onAnswer(Attestation memory attestation, GeoAnswers.BooleanAnswer memory answer)
        internal
        override
    {
        address account = attestation.recipient;
        bytes32 whereabouts = answer.inputRefs[0];
        answer.requireWithin(whereabouts, place, RADIUS);
        Attestation memory seen = GeoInputs.requireAttestation(
            _eas, whereabouts, GeoInputs.Source(locationSchema, prover, account, PLACE_MAX_AGE)
        );
        GeoInputs.requireObserved(seen, block.timestamp - PLACE_MAX_AGE, block.timestamp);
        _mint(account, ++minted);
    }
}
