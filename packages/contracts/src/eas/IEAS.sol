// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// The part of the Ethereum Attestation Service's interfaces that this package uses, which is the same in EAS 0.26
// to 1.4. From @ethereum-attestation-service/eas-contracts 1.9.0, MIT License, Copyright (c) 2020 Leonid Beder:
// Common.sol, IEAS.sol, ISchemaRegistry.sol, resolver/ISchemaResolver.sol, eip712/proxy/EIP712Proxy.sol. Copied
// here because that package installs all of Hardhat. The ABI is EAS's own: `IEAS(address(eas))` converts a contract
// from one type to the other.

/// @notice An attestation as EAS records it.
struct Attestation {
    bytes32 uid; // A unique identifier of the attestation.
    bytes32 schema; // The unique identifier of the schema.
    uint64 time; // The time when the attestation was created (Unix timestamp).
    uint64 expirationTime; // The time when the attestation expires (Unix timestamp); 0 = never.
    uint64 revocationTime; // The time when the attestation was revoked (Unix timestamp); 0 = not revoked.
    bytes32 refUID; // The UID of the related attestation.
    address recipient; // The recipient of the attestation.
    address attester; // The attester/sender of the attestation.
    bool revocable; // Whether the attestation is revocable.
    bytes data; // Custom attestation data.
}

/// @notice A registered schema.
struct SchemaRecord {
    bytes32 uid; // The unique identifier of the schema.
    ISchemaResolver resolver; // Optional schema resolver.
    bool revocable; // Whether the schema allows revocations explicitly.
    string schema; // Custom specification of the schema (e.g., an ABI).
}

/// @notice Attestation registry of a chain.
interface IEAS {
    /// @notice Returns the address of the global schema registry.
    function getSchemaRegistry() external view returns (ISchemaRegistry);

    /// @notice Returns an attestation by UID, or an empty one for an unknown UID.
    function getAttestation(bytes32 uid) external view returns (Attestation memory);
}

/// @notice Schema registry of a chain.
interface ISchemaRegistry {
    /// @notice Registers a schema; its UID is keccak256(abi.encodePacked(schema, resolver, revocable)).
    function register(string calldata schema, ISchemaResolver resolver, bool revocable)
        external
        returns (bytes32);

    /// @notice Returns a schema by UID, or an empty one for an unknown UID.
    function getSchema(bytes32 uid) external view returns (SchemaRecord memory);
}

/// @notice Functions of a schema's resolver that EAS calls.
interface ISchemaResolver {
    /// @notice True if the resolver accepts ETH with attestations.
    function isPayable() external pure returns (bool);

    /// @notice Processes a new attestation. Returning false rejects it.
    function attest(Attestation calldata attestation) external payable returns (bool);

    /// @notice Processes new attestations. Returning false rejects them all.
    function multiAttest(Attestation[] calldata attestations, uint256[] calldata values)
        external
        payable
        returns (bool);

    /// @notice Processes a revocation. Returning false rejects it.
    function revoke(Attestation calldata attestation) external payable returns (bool);

    /// @notice Processes revocations. Returning false rejects them all.
    function multiRevoke(Attestation[] calldata attestations, uint256[] calldata values)
        external
        payable
        returns (bool);
}

/// @notice EAS's PermissionedEIP712Proxy: submits the attestations that its owner signed, in any order. EAS then
/// records the proxy as the attester.
interface IPermissionedEIP712Proxy {
    /// @notice EAS contract that the proxy submits to.
    function getEAS() external view returns (IEAS);

    /// @notice Account whose signature authorized an attestation; zero until EAS has returned.
    function getAttester(bytes32 uid) external view returns (address);

    /// @notice Only account whose signatures the proxy accepts.
    function owner() external view returns (address);
}
