// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {GeoAnswers} from "./GeoAnswers.sol";
import {Attestation, IEAS, IPermissionedEIP712Proxy, ISchemaRegistry, ISchemaResolver} from "./eas/IEAS.sol";

/// @title GeoResolver
/// @notice EAS resolver that acts on answers of the Geospatial Attestation Service while they are attested. It
/// registers its own schema, under which the service signs if a request names it (`schema`). EAS then calls the
/// resolver with each answer, whoever submits it. An answer that fails a check is not attested.
///
/// Every answer is checked for: EAS as the caller; schema; attester (direct, or by the proxy); a recipient
/// other than zero; expiry; age; and the limit of `Use`. The author of the resolver checks operation, inputs
/// and result in `_onAnswer` of `BooleanGeoResolver` or `NumericGeoResolver`.
abstract contract GeoResolver is ISchemaResolver {
    /// @notice Limits of how often answers count. The UID of an answer cannot enforce a limit: a repeated
    /// request returns an answer with another UID, and the service re-signs any answer on request.
    enum Use {
        /// Once for each recipient.
        OncePerRecipient,
        /// Once for each list of inputs, such as one attestation of a location. This does not suit raw GeoJSON: the
        /// same geometry in another notation is another input.
        OncePerInputs,
        /// Without a limit. The author handles repetitions.
        Unlimited
    }

    /// @notice Settings of a resolver.
    struct Settings {
        /// EAS contract of this chain.
        IEAS eas;
        /// Attester address of the service on this chain (`GET /` of the service returns it).
        address signer;
        /// PermissionedEIP712Proxy through which answers may be submitted too. Zero accepts only direct answers.
        address proxy;
        /// Maximum age of an answer in seconds.
        uint256 maxAge;
        Use use;
    }

    IEAS internal immutable _eas;
    address private immutable _signer;
    address private immutable _proxy;
    uint256 private immutable _maxAge;
    Use private immutable _use;

    /// @notice Schema UID that a request to the service names.
    bytes32 public immutable schema;

    mapping(bytes32 key => bool) private _used;

    /// @notice The caller is not EAS.
    error NotEAS(address caller);
    /// @notice The address of EAS or of the service's signer is missing.
    error MissingAddress();
    /// @notice The proxy submits to an EAS contract other than the resolver's.
    error WrongProxyEAS(address actual, address expected);
    /// @notice The answer has no recipient: the request must name one.
    error MissingRecipient();
    /// @notice An answer for this recipient, or about these inputs, was used before.
    error AlreadyUsed(bytes32 key);

    /// @dev Registers the schema, unless it is registered already.
    constructor(Settings memory settings, string memory fields) {
        if (address(settings.eas) == address(0) || settings.signer == address(0)) revert MissingAddress();
        if (settings.proxy != address(0)) {
            IPermissionedEIP712Proxy proxy = IPermissionedEIP712Proxy(settings.proxy);
            address eas = address(proxy.getEAS());
            if (eas != address(settings.eas)) revert WrongProxyEAS(eas, address(settings.eas));
            address owner = proxy.owner();
            if (owner != settings.signer) revert GeoAnswers.WrongProxyOwner(owner, settings.signer);
        }
        _eas = settings.eas;
        _signer = settings.signer;
        _proxy = settings.proxy;
        _maxAge = settings.maxAge;
        _use = settings.use;
        schema = keccak256(abi.encodePacked(fields, address(this), true));
        ISchemaRegistry registry = settings.eas.getSchemaRegistry();
        if (registry.getSchema(schema).uid == 0) registry.register(fields, this, true);
    }

    modifier onlyEAS() {
        if (msg.sender != address(_eas)) revert NotEAS(msg.sender);
        _;
    }

    /// @inheritdoc ISchemaResolver
    function isPayable() external pure returns (bool) {
        return false;
    }

    /// @inheritdoc ISchemaResolver
    /// @dev Reverts with the error of the first check that fails.
    function attest(Attestation calldata attestation) external payable onlyEAS returns (bool) {
        _accept(attestation);
        return true;
    }

    /// @inheritdoc ISchemaResolver
    /// @dev Reverts with the error of the first check that fails.
    function multiAttest(Attestation[] calldata attestations, uint256[] calldata)
        external
        payable
        onlyEAS
        returns (bool)
    {
        for (uint256 i = 0; i < attestations.length; ++i) {
            _accept(attestations[i]);
        }
        return true;
    }

    /// @inheritdoc ISchemaResolver
    function revoke(Attestation calldata attestation) external payable onlyEAS returns (bool) {
        return _onRevoke(attestation);
    }

    /// @inheritdoc ISchemaResolver
    function multiRevoke(Attestation[] calldata attestations, uint256[] calldata)
        external
        payable
        onlyEAS
        returns (bool)
    {
        for (uint256 i = 0; i < attestations.length; ++i) {
            if (!_onRevoke(attestations[i])) return false;
        }
        return true;
    }

    /// @notice Called when the service revokes an answer that this contract has acted on. Returning false
    /// rejects the revocation. The default implementation allows it and undoes nothing.
    function _onRevoke(Attestation memory) internal virtual returns (bool) {
        return true;
    }

    /// @dev Decodes the answer, calls `_useOnce`, and passes the answer to the author's contract.
    function _process(Attestation memory attestation) internal virtual;

    /// @dev Checks the age of an answer, and that it is the first one for its recipient or about its inputs.
    function _useOnce(address recipient, uint256 timestamp, bytes32[] memory inputRefs) internal {
        GeoAnswers.requireFresh(timestamp, _maxAge);
        if (_use == Use.Unlimited) return;
        bytes32 key = _use == Use.OncePerRecipient
            ? bytes32(uint256(uint160(recipient)))
            : keccak256(abi.encodePacked(inputRefs));
        if (_used[key]) revert AlreadyUsed(key);
        _used[key] = true;
    }

    function _accept(Attestation memory attestation) private {
        GeoAnswers.requireArriving(
            attestation, GeoAnswers.Terms(schema, _signer, _proxy, attestation.recipient, _maxAge)
        );
        if (attestation.recipient == address(0)) revert MissingRecipient();
        _process(attestation);
    }
}

/// @title BooleanGeoResolver
/// @notice A `GeoResolver` for answers to within, contains and intersects.
abstract contract BooleanGeoResolver is GeoResolver {
    constructor(Settings memory settings) GeoResolver(settings, GeoAnswers.BOOLEAN_SCHEMA) {}

    /// @notice Acts on an answer, or reverts. It must check the answer with `GeoAnswers.requireWithin`,
    /// `requireContains`, `requireIntersects` or `requireDisjoint`, with every input pinned or read (`GeoInputs`).
    function _onAnswer(Attestation memory attestation, GeoAnswers.BooleanAnswer memory answer)
        internal
        virtual;

    function _process(Attestation memory attestation) internal override {
        GeoAnswers.BooleanAnswer memory answer = GeoAnswers.decodeBoolean(attestation.data);
        _useOnce(attestation.recipient, answer.timestamp, answer.inputRefs);
        _onAnswer(attestation, answer);
    }
}

/// @title NumericGeoResolver
/// @notice A `GeoResolver` for answers to distance, length and area.
abstract contract NumericGeoResolver is GeoResolver {
    constructor(Settings memory settings) GeoResolver(settings, GeoAnswers.NUMERIC_SCHEMA) {}

    /// @notice Acts on an answer, or reverts. It must check the answer with `GeoAnswers.requireDistanceAtMost` or
    /// another numeric function, with every input pinned or read (`GeoInputs`).
    function _onAnswer(Attestation memory attestation, GeoAnswers.NumericAnswer memory answer)
        internal
        virtual;

    function _process(Attestation memory attestation) internal override {
        GeoAnswers.NumericAnswer memory answer = GeoAnswers.decodeNumeric(attestation.data);
        _useOnce(attestation.recipient, answer.timestamp, answer.inputRefs);
        _onAnswer(attestation, answer);
    }
}
