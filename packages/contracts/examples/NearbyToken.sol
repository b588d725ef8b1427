// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {BooleanGeoResolver} from "@geospatial-attestation/contracts/src/GeoResolver.sol";
import {Attestation} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title NearbyToken
/// @notice A token for everybody who was within 500 m of a place, once per account. The question is
/// within(geometry: where the account is, target: the place, radius: 500 m), the recipient is the account.
contract NearbyToken is ERC721, BooleanGeoResolver {
    using GeoAnswers for GeoAnswers.BooleanAnswer;

    uint256 public constant RADIUS = 500_00; // centimetres
    /// @notice Where somebody was ten minutes ago is near enough to where they are.
    uint256 public constant PLACE_MAX_AGE = 10 minutes;

    /// @notice The reference of the place.
    bytes32 public immutable place;
    /// @notice Who attests where accounts are, and under which location schema.
    address public immutable prover;
    bytes32 public immutable locationSchema;
    /// @notice How many tokens there are. Their ids count from 1.
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
