// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity 0.8.37;

/// Asks an account whether it accepts a signature (ERC-1271), after its factory has made it if it is not deployed yet
/// (ERC-6492). It is sent as the creation code of an eth_call, so it never gets onto a chain: its constructor answers
/// one word in place of code. It reverts only when the node gives it too little gas, and copies nothing that it is
/// answered beyond 32 bytes: neither account nor factory can make it fail or answer at length.
contract AccountCheck {
    uint256 private constant NO_CONTRACT = 0;
    uint256 private constant ACCEPTED = 1;
    uint256 private constant REFUSED = 2;

    /// @param factory zero for an account that needs none
    constructor(
        address account,
        bytes32 digest,
        bytes memory signature,
        uint256 accountGas,
        address factory,
        bytes memory factoryCall,
        uint256 factoryGas
    ) {
        if (factory != address(0) && account.code.length == 0) {
            requireGas(factoryGas);
            // Whether it succeeds is seen by whether there is an account.
            assembly ("memory-safe") {
                pop(call(factoryGas, factory, 0, add(factoryCall, 32), mload(factoryCall), 0, 0))
            }
        }
        uint256 answer = NO_CONTRACT;
        if (account.code.length != 0) {
            bytes memory question = abi.encodeWithSelector(0x1626ba7e, digest, signature);
            requireGas(accountGas);
            // The answer must be the selector in a word of its own, and nothing after it.
            bool accepted;
            assembly ("memory-safe") {
                let ok := staticcall(accountGas, account, add(question, 32), mload(question), 0, 32)
                accepted := and(ok, and(eq(returndatasize(), 32), eq(mload(0), shl(224, 0x1626ba7e))))
            }
            answer = accepted ? ACCEPTED : REFUSED;
        }
        assembly ("memory-safe") {
            mstore(0, answer)
            return(0, 32)
        }
    }

    /// A call gets at most 63/64 of what is left (EIP-150): with less it would fail, and look like a refusal.
    function requireGas(uint256 wanted) private view {
        require(gasleft() - gasleft() / 64 > wanted + 10_000);
    }
}
