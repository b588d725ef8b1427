// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @notice Cheatcodes of forge that the tests use.
interface Vm {
    function addr(uint256 key) external pure returns (address);
    function assertEq(bytes32 left, bytes32 right) external pure;
    function assertEq(address left, address right) external pure;
    function assertEq(uint256 left, uint256 right) external pure;
    function assertTrue(bool condition) external pure;
    function assertFalse(bool condition) external pure;
    function assume(bool condition) external pure;
    function chainId(uint256 id) external;
    function cool(address target) external;
    function deal(address account, uint256 balance) external;
    function envOr(string calldata name, string calldata otherwise) external view returns (string memory);
    function etch(address target, bytes calldata code) external;
    function expectRevert(bytes calldata reason) external;
    function expectRevert(bytes4 selector) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectRevert() external;
    function getCode(string calldata artifact) external view returns (bytes memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonBool(string calldata json, string calldata key) external pure returns (bool);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonBytes32Array(string calldata json, string calldata key)
        external
        pure
        returns (bytes32[] memory);
    function parseJsonIntArray(string calldata json, string calldata key)
        external
        pure
        returns (int256[] memory);
    function parseJsonKeys(string calldata json, string calldata key) external pure returns (string[] memory);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonStringArray(string calldata json, string calldata key)
        external
        pure
        returns (string[] memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function prank(address sender) external;
    function readFile(string calldata path) external view returns (string memory);
    function revertToState(uint256 snapshot) external returns (bool);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function snapshotGasLastCall(string calldata name) external returns (uint256);
    function snapshotState() external returns (uint256);
    function toString(uint256 value) external pure returns (string memory);
    function warp(uint256 time) external;
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
