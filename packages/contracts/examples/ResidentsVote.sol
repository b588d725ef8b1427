// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {Attestation, IEAS} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";

/// @title ResidentsVote
/// @notice A vote of the residents of an area, once per person. A registrar attests homes, one account per person.
/// The answer is contains(container: the area, geometry: the home's attestation), and its recipient is the voter.
contract ResidentsVote {
    using GeoAnswers for GeoAnswers.BooleanAnswer;

    /// @notice Subject of a vote, and the conditions to take part.
    struct Ballot {
        /// Reference of the area.
        bytes32 area;
        /// Attester of homes. It knows the persons and guarantees that none of them has two accounts.
        address registrar;
        uint64 closes;
        uint8 choices;
    }

    uint256 public constant ANSWER_MAX_AGE = 1 days;
    /// @notice Maximum age of a home: the registrar must have observed and attested it within this time.
    uint256 public constant HOME_MAX_AGE = 365 days;

    IEAS private immutable _eas;
    address private immutable _signer;
    address private immutable _proxy;
    bytes32 private immutable _answerSchema;
    bytes32 private immutable _locationSchema;

    Ballot public ballot;
    mapping(uint8 choice => uint256) public votes;
    mapping(address account => bool) public voted;

    event Voted(address indexed account, uint8 indexed choice);

    error Closed(uint256 since);
    error NoSuchChoice(uint8 choice, uint8 choices);
    error VotedBefore(address account);

    constructor(
        IEAS eas,
        address signer,
        address proxy,
        bytes32 answerSchema,
        bytes32 locationSchema,
        Ballot memory ballot_
    ) {
        _eas = eas;
        _signer = signer;
        _proxy = proxy;
        _answerSchema = answerSchema;
        _locationSchema = locationSchema;
        ballot = ballot_;
    }

    /// @notice Votes.
    /// @param home UID of the attestation of the caller's home.
    /// @param answer UID of the service's answer, attested to the caller.
    function vote(uint8 choice, bytes32 home, bytes32 answer) external {
        if (block.timestamp > ballot.closes) revert Closed(ballot.closes);
        if (choice >= ballot.choices) revert NoSuchChoice(choice, ballot.choices);
        if (voted[msg.sender]) revert VotedBefore(msg.sender);
        voted[msg.sender] = true;
        Attestation memory registered = GeoInputs.requireAttestation(
            _eas, home, GeoInputs.Source(_locationSchema, ballot.registrar, msg.sender, HOME_MAX_AGE)
        );
        GeoInputs.requireObserved(registered, block.timestamp - HOME_MAX_AGE, block.timestamp);
        GeoAnswers.Terms memory terms =
            GeoAnswers.Terms(_answerSchema, _signer, _proxy, msg.sender, ANSWER_MAX_AGE);
        GeoAnswers.readBoolean(_eas, answer, terms).requireContains(ballot.area, home);
        ++votes[choice];
        emit Voted(msg.sender, choice);
    }
}
