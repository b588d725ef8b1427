// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// The part of the Ethereum Attestation Service's interfaces that this package uses, the same on EAS 0.26 to 1.4.
// From @ethereum-attestation-service/eas-contracts 1.9.0, MIT License, Copyright (c) 2020 Leonid Beder: Common.sol,
// IEAS.sol, ISchemaRegistry.sol, resolver/ISchemaResolver.sol, eip712/proxy/EIP712Proxy.sol. Carried here because that
// package installs all of Hardhat. The ABI is EAS's own: `IEAS(address(eas))` takes a contract from one to the other.

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

/// @notice The attestation registry of a chain.
interface IEAS {
    /// @notice Returns the address of the global schema registry.
    function getSchemaRegistry() external view returns (ISchemaRegistry);

    /// @notice Returns an existing attestation by UID; an empty one for an unknown UID.
    function getAttestation(bytes32 uid) external view returns (Attestation memory);
}

/// @notice The schema registry of a chain.
interface ISchemaRegistry {
    /// @notice Registers a schema; its UID is keccak256(abi.encodePacked(schema, resolver, revocable)).
    function register(string calldata schema, ISchemaResolver resolver, bool revocable)
        external
        returns (bytes32);

    /// @notice Returns an existing schema by UID; an empty one for an unknown UID.
    function getSchema(bytes32 uid) external view returns (SchemaRecord memory);
}

/// @notice What EAS calls of the resolver of a schema.
interface ISchemaResolver {
    /// @notice Whether the resolver takes ETH with attestations.
    function isPayable() external pure returns (bool);

    /// @notice Processes a new attestation; false refuses it.
    function attest(Attestation calldata attestation) external payable returns (bool);

    /// @notice Processes new attestations; false refuses them all.
    function multiAttest(Attestation[] calldata attestations, uint256[] calldata values)
        external
        payable
        returns (bool);

    /// @notice Processes a revocation; false refuses it.
    function revoke(Attestation calldata attestation) external payable returns (bool);

    /// @notice Processes revocations; false refuses them all.
    function multiRevoke(Attestation[] calldata attestations, uint256[] calldata values)
        external
        payable
        returns (bool);
}

/// @notice EAS's PermissionedEIP712Proxy: submits what its owner signed, in any order. EAS then records the proxy as
/// the attester.
interface IPermissionedEIP712Proxy {
    /// @notice The EAS contract that it submits to.
    function getEAS() external view returns (IEAS);

    /// @notice Whose signature an attestation was made by; zero until EAS has returned from making it.
    function getAttester(bytes32 uid) external view returns (address);

    /// @notice The one account whose signatures it takes.
    function owner() external view returns (address);
}
