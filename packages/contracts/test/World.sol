// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "../src/GeoAnswers.sol";
import {Attestation, IEAS, ISchemaRegistry, ISchemaResolver} from "../src/eas/IEAS.sol";
import {vm} from "./Vm.sol";

struct RequestData {
    address recipient;
    uint64 expirationTime;
    bool revocable;
    bytes32 refUID;
    bytes data;
    uint256 value;
}

struct Request {
    bytes32 schema;
    RequestData data;
}

struct Signature {
    uint8 v;
    bytes32 r;
    bytes32 s;
}

struct DelegatedRequest {
    bytes32 schema;
    RequestData data;
    Signature signature;
    address attester;
    uint64 deadline;
}

struct MultiDelegatedRequest {
    bytes32 schema;
    RequestData[] data;
    Signature[] signatures;
    address attester;
    uint64 deadline;
}

struct RevocationData {
    bytes32 uid;
    uint256 value;
}

struct Revocation {
    bytes32 schema;
    RevocationData data;
}

struct MultiRevocation {
    bytes32 schema;
    RevocationData[] data;
}

/// @notice Functions of EAS and its proxy that the tests call, in addition to those of the kit.
interface IAttest {
    error InvalidSignature();
    error AccessDenied();
    error UsedSignature();
    error InvalidExpirationTime();
    error InvalidRevocation();
    error InvalidRevocations();

    function attest(Request calldata request) external payable returns (bytes32);
    function attestByDelegation(DelegatedRequest calldata request) external payable returns (bytes32);
    function multiAttestByDelegation(MultiDelegatedRequest[] calldata requests)
        external
        payable
        returns (bytes32[] memory);
    function revoke(Revocation calldata request) external payable;
    function multiRevoke(MultiRevocation[] calldata requests) external payable;
    function transferOwnership(address owner) external;
    function acceptOwnership() external;
}

/// @notice Chain with the real EAS, its registry and its proxy at their addresses, the attested locations,
/// and the running service's answers about them (written by kit.system.test.ts).
abstract contract World {
    string internal json;
    IEAS internal eas;
    IAttest internal direct;
    IAttest internal proxy;
    address internal signer;
    /// @dev Attests locations that the contracts trust.
    address internal prover;
    address internal account;
    address internal mallory;
    bytes32 internal booleanSchema;
    bytes32 internal numericSchema;
    bytes32 internal locationSchema;

    function setUp() public virtual {
        string memory file = vm.envOr("ANSWERS", string(""));
        require(bytes(file).length != 0, "these tests are run by packages/contracts/test/kit.system.test.ts");
        json = vm.readFile(file);
        vm.chainId(vm.parseJsonUint(json, ".chainId"));
        vm.warp(vm.parseJsonUint(json, ".start"));
        eas = IEAS(vm.parseJsonAddress(json, ".eas"));
        direct = IAttest(address(eas));
        proxy = IAttest(vm.parseJsonAddress(json, ".proxy"));
        signer = vm.addr(vm.parseJsonUint(json, ".signerKey"));
        prover = vm.parseJsonAddress(json, ".prover");
        account = vm.parseJsonAddress(json, ".account");
        mallory = vm.parseJsonAddress(json, ".mallory");
        address registry = vm.parseJsonAddress(json, ".registry");
        string memory contracts = vm.readFile(vm.parseJsonString(json, ".easCode"));
        create(registry, vm.parseJsonBytes(contracts, ".registryCreationCode"), "", signer);
        create(address(eas), vm.parseJsonBytes(contracts, ".easCreationCode"), abi.encode(registry), signer);
        create(
            address(proxy),
            vm.parseJsonBytes(vm.readFile(vm.parseJsonString(json, ".proxyCode")), ".creationCode"),
            abi.encode(eas, vm.parseJsonString(json, ".proxyName")),
            signer
        );
        booleanSchema = register(GeoAnswers.BOOLEAN_SCHEMA, address(0));
        numericSchema = register(GeoAnswers.NUMERIC_SCHEMA, address(0));
        locationSchema = register(vm.parseJsonString(json, ".locationFields"), address(0));
        string[] memory places = vm.parseJsonKeys(json, ".places");
        for (uint256 i = 0; i < places.length; ++i) {
            attestPlace(string.concat(".places.", places[i]));
        }
        vm.warp(vm.parseJsonUint(json, ".now"));
    }

    /// @dev Runs the constructor at this address, so that values that depend on its own address are correct.
    function create(address target, bytes memory creationCode, bytes memory parameters, address deployer)
        internal
    {
        vm.etch(target, abi.encodePacked(creationCode, parameters));
        vm.prank(deployer);
        (bool created, bytes memory code) = target.call("");
        require(created, "a constructor reverted");
        vm.etch(target, code);
    }

    function register(string memory fields, address resolver) internal returns (bytes32) {
        return eas.getSchemaRegistry().register(fields, ISchemaResolver(resolver), true);
    }

    /// @dev Attests a location exactly as on the service's chain. The equal UID proves that all fields are
    /// equal.
    function attestPlace(string memory key) private {
        vm.warp(vm.parseJsonUint(json, string.concat(key, ".time")));
        vm.prank(vm.parseJsonAddress(json, string.concat(key, ".attester")));
        bytes32 uid = direct.attest(
            Request(
                locationSchema,
                RequestData({
                    recipient: vm.parseJsonAddress(json, string.concat(key, ".recipient")),
                    expirationTime: uint64(vm.parseJsonUint(json, string.concat(key, ".expirationTime"))),
                    revocable: true,
                    refUID: 0,
                    data: vm.parseJsonBytes(json, string.concat(key, ".data")),
                    value: 0
                })
            )
        );
        vm.assertEq(uid, vm.parseJsonBytes32(json, string.concat(key, ".uid")));
    }

    /// @dev Reference of a geometry: its UID, or the hash that the service returned for its GeoJSON.
    function ref(string memory name) internal view returns (bytes32) {
        string memory place = string.concat(".places.", name, ".uid");
        if (vm.keyExistsJson(json, place)) return vm.parseJsonBytes32(json, place);
        return vm.parseJsonBytes32(json, string.concat(".refs.", name));
    }

    /// @dev Answer of the service: `signature` is for direct submission, `proxySignature` for submission
    ///   through the proxy.
    function answer(string memory name, string memory form)
        internal
        view
        returns (DelegatedRequest memory request)
    {
        string memory key = string.concat(".answers.", name);
        request.schema = vm.parseJsonBytes32(json, string.concat(key, ".schema"));
        request.data = RequestData({
            recipient: vm.parseJsonAddress(json, string.concat(key, ".recipient")),
            expirationTime: 0,
            revocable: true,
            refUID: 0,
            data: vm.parseJsonBytes(json, string.concat(key, ".data")),
            value: 0
        });
        request.attester = signer;
        request.deadline = uint64(vm.parseJsonUint(json, string.concat(key, ".deadline")));
        key = string.concat(key, ".", form);
        request.signature = Signature({
            v: uint8(vm.parseJsonUint(json, string.concat(key, ".v"))),
            r: vm.parseJsonBytes32(json, string.concat(key, ".r")),
            s: vm.parseJsonBytes32(json, string.concat(key, ".s"))
        });
    }

    /// @dev Submits an answer directly. All are signed for the first nonce, so one lands per test.
    function land(string memory name) internal returns (bytes32) {
        return direct.attestByDelegation(answer(name, "signature"));
    }

    function landByProxy(string memory name) internal returns (bytes32) {
        return proxy.attestByDelegation(answer(name, "proxySignature"));
    }

    /// @dev Attests an answer from the service's own account. The service never signs this, but might in the
    /// future.
    function attestAs(
        address attester,
        bytes32 schema,
        address recipient,
        uint64 expirationTime,
        bytes memory data
    ) internal returns (bytes32) {
        vm.prank(attester);
        return direct.attest(Request(schema, RequestData(recipient, expirationTime, true, 0, data, 0)));
    }

    function revoke(bytes32 schema, bytes32 uid, address attester) internal {
        vm.prank(attester);
        direct.revoke(Revocation(schema, RevocationData(uid, 0)));
    }

    /// @dev Request for EAS's `attest` with the account as the recipient.
    function requestOf(bytes32 schema, bytes memory data) internal view returns (Request memory) {
        return Request(schema, RequestData(account, 0, true, 0, data, 0));
    }

    function moveProxy(address from, address to) internal {
        vm.prank(from);
        proxy.transferOwnership(to);
        vm.prank(to);
        proxy.acceptOwnership();
    }

    /// @dev Digest that the owner of the proxy signs.
    function proxyDigest(DelegatedRequest memory request) internal view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256(bytes(vm.parseJsonString(json, ".proxyName"))),
                keccak256("1.4.0"),
                block.chainid,
                proxy
            )
        );
        bytes32 content = keccak256(
            abi.encode(
                keccak256(
                    "Attest(address attester,bytes32 schema,address recipient,uint64 expirationTime,bool revocable,bytes32 refUID,bytes data,uint256 value,uint64 deadline)"
                ),
                request.attester,
                request.schema,
                request.data.recipient,
                request.data.expirationTime,
                request.data.revocable,
                request.data.refUID,
                keccak256(request.data.data),
                request.data.value,
                request.deadline
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, content));
    }
}
