// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Attestation, IEAS, IPermissionedEIP712Proxy} from "./eas/IEAS.sol";

/// @title GeoAnswers
/// @notice Reads signed answers of the Geospatial Attestation Service from EAS, and checks that an answer is the
/// one that a contract expects. Every failed check reverts with an error that names the difference.
///
/// A check has two steps. `readBoolean` or `readNumeric` reads an answer from EAS by its UID and checks its
/// attester, recipient and age, and that it is neither revoked nor expired. Then one `require...` function checks
/// the operation, every input in its position, and the result.
///
/// An input reference is either the UID of an attestation, or the keccak256 of raw GeoJSON. **The client that
/// requests an answer chooses its raw GeoJSON freely.** Only a reference that the contract knows beforehand, or a
/// UID whose attestation the contract reads (`GeoInputs.requireAttestation`), proves anything about the world.
library GeoAnswers {
    /// @notice Requirements for every answer, whatever its claim.
    struct Terms {
        /// Schema UID of the answer.
        bytes32 schema;
        /// Attester address of the service on this chain (`GET /` of the service returns it).
        address signer;
        /// PermissionedEIP712Proxy through which answers may be submitted too. Zero accepts only direct answers.
        address proxy;
        /// Recipient of the answer. Zero requires an answer without a recipient, which is about no account.
        address recipient;
        /// Maximum age in seconds, from the signed time of computation.
        uint256 maxAge;
    }

    /// @notice Answer to contains, within or intersects.
    struct BooleanAnswer {
        bool result;
        /// One reference per input, in the order of the request.
        bytes32[] inputRefs;
        /// Time of computation, Unix seconds.
        uint256 timestamp;
        string operation;
    }

    /// @notice Answer to distance, length or area.
    struct NumericAnswer {
        /// Centimetres (distance, length) or square centimetres (area).
        uint256 result;
        string units;
        /// One reference per input, in the order of the request.
        bytes32[] inputRefs;
        /// Time of computation, Unix seconds.
        uint256 timestamp;
        string operation;
    }

    /// @notice Types of a schema for boolean answers: those of the service's own schema, and of a resolver's.
    string internal constant BOOLEAN_SCHEMA =
        "bool result,bytes32[] inputRefs,uint256 timestamp,string operation";
    /// @notice Types of a schema for numeric answers.
    string internal constant NUMERIC_SCHEMA =
        "uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation";

    /// @notice Seconds that the service's clock may be ahead of the block's. A block has the time at which
    /// its construction began, and wallets simulate on the latest block, which is up to 12 seconds old on
    /// Ethereum; clocks also drift.
    uint256 internal constant CLOCK_SKEW = 60;

    bytes10 private constant DIGITS = "0123456789";

    error UnknownAttestation(bytes32 uid);
    error WrongSchema(bytes32 actual, bytes32 expected);
    /// @notice EAS records an attester other than the service's signer or, if one is accepted, the proxy.
    error WrongAttester(address actual, address expected);
    /// @notice The proxy made the attestation with the signature of an account other than the service's signer.
    error WrongProxyAttester(address actual, address expected);
    /// @notice The proxy accepts the signatures of an account other than the service's signer.
    error WrongProxyOwner(address actual, address expected);
    error WrongRecipient(address actual, address expected);
    error AnswerRevoked(uint64 revocationTime);
    error AnswerExpired(uint64 expirationTime);
    /// @notice The answer was computed at `timestamp`; `oldest` is the oldest accepted time (Unix seconds).
    error AnswerTooOld(uint256 timestamp, uint256 oldest);
    /// @notice The answer was computed at `timestamp`; `newest` is the newest accepted time (Unix seconds).
    error AnswerFromFuture(uint256 timestamp, uint256 newest);
    error WrongOperation(string actual, string expected);
    error WrongUnits(string actual, string expected);
    error WrongInputCount(uint256 actual, uint256 expected);
    /// @notice Input `index` (from 0, in the order of the request) differs from the expected one.
    error WrongInput(uint256 index, bytes32 actual, bytes32 expected);
    error WrongResult(bool actual, bool expected);
    /// @notice Both values are centimetres or square centimetres.
    error ResultTooLarge(uint256 actual, uint256 most);
    /// @notice Both values are centimetres or square centimetres.
    error ResultTooSmall(uint256 actual, uint256 least);

    // ---------------------------------------------------------------------------------------------------------------
    // Attester, recipient and age
    // ---------------------------------------------------------------------------------------------------------------

    /// @notice Reads a boolean answer from EAS. Checks schema, attester (direct, or by the proxy), recipient, that
    /// it is neither revoked nor expired, and that it was computed at most `terms.maxAge` seconds ago. Reverts with
    /// UnknownAttestation, WrongAttester, WrongProxyAttester, WrongSchema, WrongRecipient, AnswerRevoked,
    /// AnswerExpired, AnswerFromFuture or AnswerTooOld.
    /// @param eas EAS contract of this chain: a constant of the calling contract, never a caller's parameter.
    /// @return answer Argument of `requireWithin`, `requireContains`, `requireIntersects` and `requireDisjoint`.
    function readBoolean(IEAS eas, bytes32 uid, Terms memory terms)
        internal
        view
        returns (BooleanAnswer memory answer)
    {
        Attestation memory attestation = _recorded(eas, uid, terms);
        answer = decodeBoolean(attestation.data);
        requireFresh(answer.timestamp, terms.maxAge);
    }

    /// @notice Reads a numeric answer from EAS, with the checks and errors of `readBoolean`.
    /// @param eas EAS contract of this chain: a constant of the calling contract, never a caller's parameter.
    /// @return answer Argument of `requireDistanceAtMost` and the other numeric functions.
    function readNumeric(IEAS eas, bytes32 uid, Terms memory terms)
        internal
        view
        returns (NumericAnswer memory answer)
    {
        Attestation memory attestation = _recorded(eas, uid, terms);
        answer = decodeNumeric(attestation.data);
        requireFresh(answer.timestamp, terms.maxAge);
    }

    /// @notice For resolvers: checks everything but the age of an attestation while EAS makes it. `GeoResolver`
    /// calls this. Reverts with WrongAttester, WrongProxyOwner, WrongSchema, WrongRecipient, AnswerRevoked or
    /// AnswerExpired.
    /// @dev The proxy writes `getAttester(uid)` only after EAS has returned, so it is still zero here. This
    /// function can check only that the proxy's owner is the signer, because the proxy accepts its owner's
    /// signatures only. It therefore trusts, in addition to the signer, the proxy's code. It also trusts that the
    /// signer never accepts the ownership of the proxy while the previous owner's attestation is being made.
    function requireArriving(Attestation memory attestation, Terms memory terms) internal view {
        if (attestation.attester != terms.signer) {
            _requireProxy(attestation.attester, terms);
            address owner = IPermissionedEIP712Proxy(terms.proxy).owner();
            if (owner != terms.signer) revert WrongProxyOwner(owner, terms.signer);
        }
        _requireSound(attestation, terms);
    }

    /// @notice Checks that an answer was computed at most `maxAge` seconds ago, and at most CLOCK_SKEW in the
    /// future. Reverts with AnswerFromFuture or AnswerTooOld.
    function requireFresh(uint256 timestamp, uint256 maxAge) internal view {
        if (timestamp > block.timestamp + CLOCK_SKEW) {
            revert AnswerFromFuture(timestamp, block.timestamp + CLOCK_SKEW);
        }
        // The steps do not depend on the time, so that a gas estimate is still valid a block later.
        uint256 oldest = maxAge < block.timestamp ? block.timestamp - maxAge : 0;
        if (timestamp < oldest) revert AnswerTooOld(timestamp, oldest);
    }

    /// @notice Decodes the data of a boolean answer. Does not check its attester. Reverts for other data.
    function decodeBoolean(bytes memory data) internal pure returns (BooleanAnswer memory answer) {
        (answer.result, answer.inputRefs, answer.timestamp, answer.operation) =
            abi.decode(data, (bool, bytes32[], uint256, string));
    }

    /// @notice Decodes the data of a numeric answer. Does not check its attester. Reverts for other data.
    function decodeNumeric(bytes memory data) internal pure returns (NumericAnswer memory answer) {
        (answer.result, answer.units, answer.inputRefs, answer.timestamp, answer.operation) =
            abi.decode(data, (uint256, string, bytes32[], uint256, string));
    }

    // ---------------------------------------------------------------------------------------------------------------
    // Operation, inputs and result
    // ---------------------------------------------------------------------------------------------------------------

    /// @notice Requires the claim that `geometry` and `target` are at most `radius` centimetres apart. The radius
    /// must equal that of the request: a smaller one is rejected too. Reverts, like the other three functions of
    /// boolean answers, with WrongOperation, WrongInputCount, WrongInput or WrongResult.
    /// @param radius Centimetres; requests to the service state metres.
    function requireWithin(BooleanAnswer memory answer, bytes32 geometry, bytes32 target, uint256 radius)
        internal
        pure
    {
        _requireOperation(answer.operation, string.concat("within:", _decimal(radius)));
        _requireInputs(answer.inputRefs, geometry, target);
        _requireResult(answer.result, true);
    }

    /// @notice Requires the claim that `container` contains all of `geometry`.
    function requireContains(BooleanAnswer memory answer, bytes32 container, bytes32 geometry) internal pure {
        _requireOperation(answer.operation, "contains");
        _requireInputs(answer.inputRefs, container, geometry);
        _requireResult(answer.result, true);
    }

    /// @notice Requires the claim that both geometries share at least a point.
    function requireIntersects(BooleanAnswer memory answer, bytes32 geometry1, bytes32 geometry2)
        internal
        pure
    {
        _requireOperation(answer.operation, "intersects");
        _requireInputs(answer.inputRefs, geometry1, geometry2);
        _requireResult(answer.result, true);
    }

    /// @notice Requires the claim that both geometries share no point (the result of `intersects` is false).
    function requireDisjoint(BooleanAnswer memory answer, bytes32 geometry1, bytes32 geometry2)
        internal
        pure
    {
        _requireOperation(answer.operation, "intersects");
        _requireInputs(answer.inputRefs, geometry1, geometry2);
        _requireResult(answer.result, false);
    }

    /// @notice Requires the claim that `from` and `to` are at most `most` centimetres apart. Reverts, like the
    /// other numeric functions, with WrongOperation, WrongUnits, WrongInputCount, WrongInput, ResultTooLarge or
    /// ResultTooSmall.
    function requireDistanceAtMost(NumericAnswer memory answer, bytes32 from, bytes32 to, uint256 most)
        internal
        pure
    {
        _requireDistance(answer, from, to);
        _requireAtMost(answer.result, most);
    }

    /// @notice Requires the claim that `from` and `to` are at least `least` centimetres apart.
    function requireDistanceAtLeast(NumericAnswer memory answer, bytes32 from, bytes32 to, uint256 least)
        internal
        pure
    {
        _requireDistance(answer, from, to);
        _requireAtLeast(answer.result, least);
    }

    /// @notice Requires the claim that the lines of `geometry` are at most `most` centimetres long.
    function requireLengthAtMost(NumericAnswer memory answer, bytes32 geometry, uint256 most) internal pure {
        _requireMeasure(answer, "length", "centimeters", geometry);
        _requireAtMost(answer.result, most);
    }

    /// @notice Requires the claim that the lines of `geometry` are at least `least` centimetres long.
    function requireLengthAtLeast(NumericAnswer memory answer, bytes32 geometry, uint256 least)
        internal
        pure
    {
        _requireMeasure(answer, "length", "centimeters", geometry);
        _requireAtLeast(answer.result, least);
    }

    /// @notice Requires the claim that the area of `geometry` is at most `most` square centimetres.
    function requireAreaAtMost(NumericAnswer memory answer, bytes32 geometry, uint256 most) internal pure {
        requireAreaBetween(answer, geometry, 0, most);
    }

    /// @notice Requires the claim that the area of `geometry` is at least `least` square centimetres.
    function requireAreaAtLeast(NumericAnswer memory answer, bytes32 geometry, uint256 least) internal pure {
        requireAreaBetween(answer, geometry, least, type(uint256).max);
    }

    /// @notice Requires the claim that the area of `geometry` is from `least` to `most` square centimetres, both
    /// included. A square metre has 10,000 square centimetres, a hectare 1e8, a square kilometre 1e10.
    function requireAreaBetween(NumericAnswer memory answer, bytes32 geometry, uint256 least, uint256 most)
        internal
        pure
    {
        _requireMeasure(answer, "area", "square_centimeters", geometry);
        _requireAtLeast(answer.result, least);
        _requireAtMost(answer.result, most);
    }

    // ---------------------------------------------------------------------------------------------------------------

    /// @dev Reads the attestation from EAS, with all checks but that of its age.
    function _recorded(IEAS eas, bytes32 uid, Terms memory terms)
        private
        view
        returns (Attestation memory attestation)
    {
        attestation = eas.getAttestation(uid);
        if (attestation.uid == 0 || attestation.uid != uid) revert UnknownAttestation(uid);
        if (attestation.attester != terms.signer) {
            _requireProxy(attestation.attester, terms);
            address attester = IPermissionedEIP712Proxy(terms.proxy).getAttester(uid);
            if (attester != terms.signer) revert WrongProxyAttester(attester, terms.signer);
        }
        _requireSound(attestation, terms);
    }

    function _requireProxy(address attester, Terms memory terms) private pure {
        if (terms.proxy == address(0) || attester != terms.proxy) {
            revert WrongAttester(attester, terms.signer);
        }
    }

    function _requireSound(Attestation memory attestation, Terms memory terms) private view {
        if (attestation.schema != terms.schema) revert WrongSchema(attestation.schema, terms.schema);
        if (attestation.recipient != terms.recipient) {
            revert WrongRecipient(attestation.recipient, terms.recipient);
        }
        if (attestation.revocationTime != 0) revert AnswerRevoked(attestation.revocationTime);
        if (attestation.expirationTime != 0 && attestation.expirationTime <= block.timestamp) {
            revert AnswerExpired(attestation.expirationTime);
        }
    }

    function _requireDistance(NumericAnswer memory answer, bytes32 from, bytes32 to) private pure {
        _requireOperation(answer.operation, "distance");
        _requireUnits(answer.units, "centimeters");
        _requireInputs(answer.inputRefs, from, to);
    }

    function _requireMeasure(
        NumericAnswer memory answer,
        string memory operation,
        string memory units,
        bytes32 geometry
    ) private pure {
        _requireOperation(answer.operation, operation);
        _requireUnits(answer.units, units);
        if (answer.inputRefs.length != 1) revert WrongInputCount(answer.inputRefs.length, 1);
        _requireInput(answer.inputRefs, 0, geometry);
    }

    function _requireOperation(string memory actual, string memory expected) private pure {
        if (!_equal(actual, expected)) revert WrongOperation(actual, expected);
    }

    function _requireUnits(string memory actual, string memory expected) private pure {
        if (!_equal(actual, expected)) revert WrongUnits(actual, expected);
    }

    function _requireInputs(bytes32[] memory inputRefs, bytes32 first, bytes32 second) private pure {
        if (inputRefs.length != 2) revert WrongInputCount(inputRefs.length, 2);
        _requireInput(inputRefs, 0, first);
        _requireInput(inputRefs, 1, second);
    }

    function _requireInput(bytes32[] memory inputRefs, uint256 index, bytes32 expected) private pure {
        if (inputRefs[index] != expected) revert WrongInput(index, inputRefs[index], expected);
    }

    function _requireResult(bool actual, bool expected) private pure {
        if (actual != expected) revert WrongResult(actual, expected);
    }

    function _requireAtMost(uint256 actual, uint256 most) private pure {
        if (actual > most) revert ResultTooLarge(actual, most);
    }

    function _requireAtLeast(uint256 actual, uint256 least) private pure {
        if (actual < least) revert ResultTooSmall(actual, least);
    }

    function _equal(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    /// @dev Prints a radius like the service: digits without leading zeros.
    function _decimal(uint256 value) private pure returns (string memory) {
        uint256 length = 1;
        for (uint256 rest = value / 10; rest != 0; rest /= 10) {
            ++length;
        }
        bytes memory digits = new bytes(length);
        for (uint256 i = length; i != 0; value /= 10) {
            digits[--i] = DIGITS[value % 10];
        }
        return string(digits);
    }
}
