// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity 0.8.37;

/// Checks if an account accepts a signature (ERC-1271), after calling its factory if it is not deployed yet
/// (ERC-6492). It is sent as the creation code of an eth_call, so it is never deployed: its constructor
/// returns one word instead of code. It reverts only if the RPC endpoint supplies too little gas. It copies
/// at most 32 bytes of any return data, so neither the account nor the factory can make it fail or return
/// long data.
contract AccountCheck {
    uint256 private constant NO_CONTRACT = 0;
    uint256 private constant ACCEPTED = 1;
    uint256 private constant REFUSED = 2;

    /// @param factory zero for an account without a factory
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
            // The code of the account shows if the call succeeded, so its result is discarded.
            assembly ("memory-safe") {
                pop(call(factoryGas, factory, 0, add(factoryCall, 32), mload(factoryCall), 0, 0))
            }
        }
        uint256 answer = NO_CONTRACT;
        if (account.code.length != 0) {
            bytes memory question = abi.encodeWithSelector(0x1626ba7e, digest, signature);
            requireGas(accountGas);
            // The return data must be one word with the selector, and nothing after it.
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

    /// Requires enough gas for a call. A call gets at most 63/64 of the gas left (EIP-150). With too little gas it
    /// would fail, and look like a refusal.
    function requireGas(uint256 wanted) private view {
        require(gasleft() - gasleft() / 64 > wanted + 10_000);
    }
}
