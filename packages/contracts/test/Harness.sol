// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "../src/GeoAnswers.sol";
import {GeoInputs} from "../src/GeoInputs.sol";
import {GeoResolver, NumericGeoResolver} from "../src/GeoResolver.sol";
import {Attestation, IEAS, IPermissionedEIP712Proxy} from "../src/eas/IEAS.sol";

/// @notice Makes the libraries' functions callable from outside.
contract Reader {
    using GeoAnswers for GeoAnswers.BooleanAnswer;
    using GeoAnswers for GeoAnswers.NumericAnswer;

    IEAS private immutable _eas;

    constructor(IEAS eas) {
        _eas = eas;
    }

    function within(
        bytes32 uid,
        GeoAnswers.Terms memory terms,
        bytes32 geometry,
        bytes32 target,
        uint256 radius
    ) external view {
        GeoAnswers.readBoolean(_eas, uid, terms).requireWithin(geometry, target, radius);
    }

    function contains(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 container, bytes32 geometry)
        external
        view
    {
        GeoAnswers.readBoolean(_eas, uid, terms).requireContains(container, geometry);
    }

    function intersects(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 first, bytes32 second)
        external
        view
    {
        GeoAnswers.readBoolean(_eas, uid, terms).requireIntersects(first, second);
    }

    function disjoint(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 first, bytes32 second)
        external
        view
    {
        GeoAnswers.readBoolean(_eas, uid, terms).requireDisjoint(first, second);
    }

    function distanceAtMost(
        bytes32 uid,
        GeoAnswers.Terms memory terms,
        bytes32 from,
        bytes32 to,
        uint256 most
    ) external view {
        GeoAnswers.readNumeric(_eas, uid, terms).requireDistanceAtMost(from, to, most);
    }

    function distanceAtLeast(
        bytes32 uid,
        GeoAnswers.Terms memory terms,
        bytes32 from,
        bytes32 to,
        uint256 least
    ) external view {
        GeoAnswers.readNumeric(_eas, uid, terms).requireDistanceAtLeast(from, to, least);
    }

    function lengthAtMost(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 geometry, uint256 most)
        external
        view
    {
        GeoAnswers.readNumeric(_eas, uid, terms).requireLengthAtMost(geometry, most);
    }

    function lengthAtLeast(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 geometry, uint256 least)
        external
        view
    {
        GeoAnswers.readNumeric(_eas, uid, terms).requireLengthAtLeast(geometry, least);
    }

    function areaAtMost(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 geometry, uint256 most)
        external
        view
    {
        GeoAnswers.readNumeric(_eas, uid, terms).requireAreaAtMost(geometry, most);
    }

    function areaAtLeast(bytes32 uid, GeoAnswers.Terms memory terms, bytes32 geometry, uint256 least)
        external
        view
    {
        GeoAnswers.readNumeric(_eas, uid, terms).requireAreaAtLeast(geometry, least);
    }

    function areaBetween(
        bytes32 uid,
        GeoAnswers.Terms memory terms,
        bytes32 geometry,
        uint256 least,
        uint256 most
    ) external view {
        GeoAnswers.readNumeric(_eas, uid, terms).requireAreaBetween(geometry, least, most);
    }

    function place(bytes32 uid, GeoInputs.Source memory source) external view {
        GeoInputs.requireAttestation(_eas, uid, source);
    }

    function eventTime(bytes32 uid) external view returns (uint256) {
        return GeoInputs.eventTime(_eas.getAttestation(uid));
    }

    function observed(bytes32 uid, GeoInputs.Source memory source, uint256 from, uint256 to) external view {
        GeoInputs.requireObserved(GeoInputs.requireAttestation(_eas, uid, source), from, to);
    }

    function point(int256 longitudeE7, int256 latitudeE7) external pure returns (bytes32) {
        return GeoInputs.point(longitudeE7, latitudeE7);
    }

    function fresh(uint256 timestamp, uint256 maxAge) external view {
        GeoAnswers.requireFresh(timestamp, maxAge);
    }

    function checkWithin(
        GeoAnswers.BooleanAnswer memory answer,
        bytes32 geometry,
        bytes32 target,
        uint256 radius
    ) external pure {
        answer.requireWithin(geometry, target, radius);
    }

    function checkArea(GeoAnswers.NumericAnswer memory answer, bytes32 geometry, uint256 least, uint256 most)
        external
        pure
    {
        answer.requireAreaBetween(geometry, least, most);
    }

    function decodeBoolean(bytes memory data) external pure returns (GeoAnswers.BooleanAnswer memory) {
        return GeoAnswers.decodeBoolean(data);
    }

    function decodeNumeric(bytes memory data) external pure returns (GeoAnswers.NumericAnswer memory) {
        return GeoAnswers.decodeNumeric(data);
    }
}

/// @notice Contract without the kit: it checks only the attester (the service, or its proxy) and the result.
contract Naive {
    IEAS private immutable _eas;
    address private immutable _signer;
    address private immutable _proxy;

    constructor(IEAS eas, address signer, address proxy) {
        _eas = eas;
        _signer = signer;
        _proxy = proxy;
    }

    function accepts(bytes32 uid) external view returns (bool) {
        return acceptsAnything(uid) && acceptsOfAnybody(uid);
    }

    /// @notice Accepts answers of any attester.
    function acceptsOfAnybody(bytes32 uid) public view returns (bool) {
        return abi.decode(_eas.getAttestation(uid).data, (bool));
    }

    /// @notice Accepts answers with any result.
    function acceptsAnything(bytes32 uid) public view returns (bool) {
        address attester = _eas.getAttestation(uid).attester;
        return attester == _signer || attester == _proxy;
    }

    /// @notice Accepts a number as centimetres or as square centimetres.
    function acceptsAtMost(bytes32 uid, uint256 most) external view returns (bool) {
        return acceptsAnything(uid) && abi.decode(_eas.getAttestation(uid).data, (uint256)) <= most;
    }

    /// @notice Contract that pretends to be a proxy.
    function acceptsByAnyProxy(bytes32 uid) external view returns (bool) {
        address attester = _eas.getAttestation(uid).attester;
        return IPermissionedEIP712Proxy(attester).getAttester(uid) == _signer && acceptsOfAnybody(uid);
    }

    /// @notice Contract that verifies a signature itself, with a domain that the caller supplies.
    function acceptsSignature(bytes32 domain, bytes32 structHash, uint8 v, bytes32 r, bytes32 s)
        external
        view
        returns (bool)
    {
        return ecrecover(keccak256(abi.encodePacked(hex"1901", domain, structHash)), v, r, s) == _signer;
    }
}

/// @notice Resolver without the kit: it checks only the attester (or accepts any that `attesters` allows) and
/// the result.
contract NaiveResolver {
    /// @dev It is placed at the address of another contract, whose storage layout comes first.
    uint256[50] private _others;
    mapping(address attester => bool) public attesters;
    uint256 public minted;

    function allow(address attester) external {
        attesters[attester] = true;
    }

    function isPayable() external pure returns (bool) {
        return false;
    }

    function attest(Attestation calldata attestation) external payable returns (bool) {
        if (!attesters[attestation.attester] || !abi.decode(attestation.data, (bool))) return false;
        ++minted;
        return true;
    }
}

/// @notice Fake proxy that claims that the service signed everything it attests.
contract FakeProxy {
    address public owner;

    constructor(address signer) {
        owner = signer;
    }

    function getAttester(bytes32) external view returns (address) {
        return owner;
    }

    function attest(address eas, bytes calldata call) external returns (bytes32) {
        (bool done, bytes memory uid) = eas.call(call);
        require(done, "not attested");
        return abi.decode(uid, (bytes32));
    }
}

/// @notice Registers parcels of at most a square kilometre, each once, for any recipient.
contract ParcelRegistry is NumericGeoResolver {
    using GeoAnswers for GeoAnswers.NumericAnswer;

    mapping(bytes32 parcel => address) public ownerOf;
    /// @notice True if the resolver rejects revocations of registered answers.
    bool public locked;

    constructor(Settings memory settings) NumericGeoResolver(settings) {}

    function lock() external {
        locked = true;
    }

    function unlock() external {
        locked = false;
    }

    function _onAnswer(Attestation memory attestation, GeoAnswers.NumericAnswer memory answer)
        internal
        override
    {
        bytes32 parcel = answer.inputRefs[0];
        answer.requireAreaBetween(parcel, 1, 1e10);
        ownerOf[parcel] = attestation.recipient;
    }

    function _onRevoke(Attestation memory) internal view override returns (bool) {
        return !locked;
    }
}
