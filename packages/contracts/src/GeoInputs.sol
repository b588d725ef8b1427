// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Attestation, IEAS} from "./eas/IEAS.sol";

/// @title GeoInputs
/// @notice Pins the geometries that an answer is about.
///
/// - A geometry known beforehand is pinned by its reference: the UID of its attestation, or the keccak256 of its
///   canonical JSON (`point`, or the `inputRefs` of any answer of the service about it).
/// - A geometry that changes, such as the current position of a user, is the UID of an attestation. The contract
///   reads it from the answer's `inputRefs` and checks its attester, recipient, schema and time
///   (`requireAttestation`).
/// - **Attested is not observed.** An attestation made now may report where an account was 400 days ago: its event
///   time states when. A contract that depends on the time of an event checks both (`requireObserved`).
///
/// **The client that requests an answer chooses its raw GeoJSON freely.** A reference that is neither pinned nor
/// read proves nothing.
library GeoInputs {
    /// @notice Requirements for the attestation of a location.
    struct Source {
        /// Location schema.
        bytes32 schema;
        /// Required attester: an account that the contract trusts about this location.
        address prover;
        /// Required recipient. Zero requires an attestation without a recipient, which is about no account.
        address recipient;
        /// Maximum age of the attestation in seconds, by EAS's clock.
        uint256 maxAge;
    }

    /// @notice UID of the location schema v0.1, whose first field is the event time. Every chain has the same UIDs.
    bytes32 internal constant LOCATION_SCHEMA =
        0xba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2;
    /// @notice UID of the Location Protocol's schema of four strings, which has no event time. The private
    /// constants below are its variants with a space after each comma, or with a number as `lp_version`.
    bytes32 internal constant LOCATION_PROTOCOL_SCHEMA =
        0x3902cc7b8e415eb1ed9ac496431c31c88023cdbde0821cbb81195a8bcf74fffd;
    bytes32 private constant _LOCATION_PROTOCOL_SPACED =
        0xe7341faf6cbe6ecdd9ede7581eee7f9a97c9fd9d6b6e059e11f6651b0df781b8;
    bytes32 private constant _LOCATION_PROTOCOL_NUMBERED =
        0x787e10fd6d121e506524ccdf6fce785e84222a451a4aadccfd325db69e342cf0;
    bytes32 private constant _LOCATION_PROTOCOL_NUMBERED_SPACED =
        0x7e642593617c8b6eeec1d0a5d1e25dce9c8e2fd05d8d4b461eeeea461194f55f;

    bytes10 private constant DIGITS = "0123456789";

    error UnknownPlace(bytes32 uid);
    error WrongPlaceSchema(bytes32 actual, bytes32 expected);
    error WrongProver(address actual, address expected);
    error WrongPlaceRecipient(address actual, address expected);
    error PlaceRevoked(uint64 revocationTime);
    error PlaceExpired(uint64 expirationTime);
    /// @notice The location was attested at `time`; `oldest` is the oldest accepted time (Unix seconds).
    error PlaceTooOld(uint64 time, uint256 oldest);
    /// @notice This library does not know the event time of attestations under this schema.
    error UnknownEventTime(bytes32 schema);
    /// @notice The location was observed at `time`, which is before `from` (Unix seconds).
    error ObservedTooEarly(uint256 time, uint256 from);
    /// @notice The location was observed at `time`, which is after `to` (Unix seconds).
    error ObservedTooLate(uint256 time, uint256 to);
    /// @notice Values are in units of 1e-7 degrees: the longitude from -180e7 to 180e7, the latitude from
    /// -90e7 to 90e7.
    error InvalidPosition(int256 longitudeE7, int256 latitudeE7);

    /// @notice Reads the attestation of a location from EAS. Checks schema, prover, recipient and age, and that it
    /// is neither revoked nor expired. EAS has no offchain attestations and no raw GeoJSON. Reverts with
    /// UnknownPlace, WrongPlaceSchema, WrongProver, WrongPlaceRecipient, PlaceRevoked, PlaceExpired or PlaceTooOld.
    /// @param eas EAS contract of this chain: a constant of the calling contract, never a caller's parameter.
    /// @dev `maxAge` limits the time of the attestation, not that of the event: see `requireObserved`. The prover
    /// chooses the geometry too: a polygon of half the world is within 500 m of everything. Trust a prover that
    /// attests points, or use `contains` with the pinned area as container.
    function requireAttestation(IEAS eas, bytes32 uid, Source memory source)
        internal
        view
        returns (Attestation memory place)
    {
        place = eas.getAttestation(uid);
        if (place.uid == 0 || place.uid != uid) revert UnknownPlace(uid);
        if (place.schema != source.schema) revert WrongPlaceSchema(place.schema, source.schema);
        if (place.attester != source.prover) revert WrongProver(place.attester, source.prover);
        if (place.recipient != source.recipient) {
            revert WrongPlaceRecipient(place.recipient, source.recipient);
        }
        if (place.revocationTime != 0) revert PlaceRevoked(place.revocationTime);
        if (place.expirationTime != 0 && place.expirationTime <= block.timestamp) {
            revert PlaceExpired(place.expirationTime);
        }
        // EAS never attests in the future, so the age cannot be negative.
        if (block.timestamp - place.time > source.maxAge) {
            revert PlaceTooOld(place.time, block.timestamp - source.maxAge);
        }
    }

    /// @notice Event time as its attester states it. The schema requires Unix seconds, but any number can be
    /// attested, such as 0 or milliseconds. For the Location Protocol's schemas, which have no event time, it is
    /// the time of the attestation, as in the service's records. Reverts with UnknownEventTime for other schemas,
    /// whose `data` the calling contract decodes itself, and for data that is shorter than the time.
    /// @param place Attestation that `requireAttestation` returned.
    function eventTime(Attestation memory place) internal pure returns (uint256 time) {
        bytes32 schema = place.schema;
        if (schema == LOCATION_SCHEMA && place.data.length >= 32) {
            // First word of the data. The strings after it need not be decoded.
            bytes memory data = place.data;
            assembly ("memory-safe") {
                time := mload(add(data, 32))
            }
        } else if (
            schema == LOCATION_PROTOCOL_SCHEMA || schema == _LOCATION_PROTOCOL_SPACED
                || schema == _LOCATION_PROTOCOL_NUMBERED || schema == _LOCATION_PROTOCOL_NUMBERED_SPACED
        ) {
            time = place.time;
        } else {
            revert UnknownEventTime(schema);
        }
    }

    /// @notice Checks that a location was observed from `from` to `to`, both included (Unix seconds). Reverts with
    /// UnknownEventTime, ObservedTooEarly or ObservedTooLate.
    /// @param place Attestation that `requireAttestation` returned.
    /// @param to At most `block.timestamp`. A later time would accept a location in the future, which nobody has
    /// observed.
    function requireObserved(Attestation memory place, uint256 from, uint256 to) internal pure {
        uint256 time = eventTime(place);
        if (time < from) revert ObservedTooEarly(time, from);
        if (time > to) revert ObservedTooLate(time, to);
    }

    /// @notice Reference of a raw GeoJSON point: keccak256 of `{"coordinates":[longitude,latitude],"type":"Point"}`
    /// with the numbers in the form of RFC 8785. Reverts with InvalidPosition.
    /// @dev Exact for coordinates of at most seven decimals (1 cm), whose shortest decimal forms differ. The client
    /// must send the same numbers: 2.2945 and 2.29450 are one number, 2.2945 and 2.2945001 are two.
    /// @param longitudeE7 1e-7 degrees: 2.2945 is 22945000.
    /// @param latitudeE7 1e-7 degrees.
    function point(int256 longitudeE7, int256 latitudeE7) internal pure returns (bytes32) {
        if (longitudeE7 < -180e7 || longitudeE7 > 180e7 || latitudeE7 < -90e7 || latitudeE7 > 90e7) {
            revert InvalidPosition(longitudeE7, latitudeE7);
        }
        return keccak256(
            abi.encodePacked(
                '{"coordinates":[', _degrees(longitudeE7), ",", _degrees(latitudeE7), '],"type":"Point"}'
            )
        );
    }

    /// @dev Prints valueE7 / 1e7 as JSON's shortest number. Numbers below 1e-6 have an exponent.
    function _degrees(int256 valueE7) private pure returns (bytes memory text) {
        uint256 magnitude = uint256(valueE7 < 0 ? -valueE7 : valueE7);
        if (magnitude != 0 && magnitude < 10) text = abi.encodePacked(DIGITS[magnitude], "e-7");
        else text = _decimal(magnitude);
        if (valueE7 < 0) text = abi.encodePacked("-", text);
    }

    /// @dev Prints magnitudeE7 / 1e7 in digits, without trailing zeros.
    function _decimal(uint256 magnitudeE7) private pure returns (bytes memory text) {
        uint256 whole = magnitudeE7 / 1e7;
        uint256 fraction = magnitudeE7 % 1e7;
        uint256 decimals = fraction == 0 ? 0 : 7;
        for (; decimals != 0 && fraction % 10 == 0; fraction /= 10) {
            --decimals;
        }
        uint256 wholeDigits = whole < 10 ? 1 : whole < 100 ? 2 : 3;
        uint256 i = decimals == 0 ? wholeDigits : wholeDigits + 1 + decimals;
        text = new bytes(i);
        if (decimals != 0) {
            for (; decimals != 0; --decimals) {
                text[--i] = DIGITS[fraction % 10];
                fraction /= 10;
            }
            text[--i] = ".";
        }
        for (; i != 0; whole /= 10) {
            text[--i] = DIGITS[whole % 10];
        }
    }
}
