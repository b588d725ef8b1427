// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity 0.8.37;

/// Contracts that sign (ERC-1271): for tests only.

/// Accepts the signatures of its current owner.
contract Account {
    address public owner;

    constructor(address first) {
        owner = first;
    }

    function setOwner(address next) external {
        owner = next;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

contract Factory {
    function create(address owner) external returns (address) {
        return address(new Account{salt: 0}(owner));
    }
}

/// Accepts any signature, either normally or with responses that a caller must not accept.
contract Hostile {
    enum Way {
        Accepts,
        BurnsAllGas,
        Answers10MB,
        Reverts,
        RevertsWithMagic,
        Reverts10MB,
        AddsGarbage,
        AnswersTwoWords,
        AnswersFourBytes,
        AnswersNothing,
        AnswersMagicAtTheEnd,
        AnswersTrue,
        WritesState,
        DestroysItself,
        Recurses,
        IsInvalid
    }

    Way private immutable way;
    uint256 private written;

    constructor(Way given) {
        way = given;
    }

    fallback() external {
        bytes32 magic = bytes32(bytes4(0x1626ba7e));
        if (way == Way.BurnsAllGas) while (true) written;
        if (way == Way.Reverts) revert();
        if (way == Way.WritesState) written = 1;
        if (way == Way.DestroysItself) selfdestruct(payable(address(this)));
        if (way == Way.Recurses) address(this).staticcall(msg.data);
        uint256 size = 32;
        if (way == Way.Answers10MB || way == Way.Reverts10MB) size = 10_000_000;
        if (way == Way.AddsGarbage) size = 33;
        if (way == Way.AnswersTwoWords) size = 64;
        if (way == Way.AnswersFourBytes) size = 4;
        if (way == Way.AnswersNothing) size = 0;
        if (way == Way.AnswersMagicAtTheEnd) magic >>= 224;
        if (way == Way.AnswersTrue) magic = bytes32(uint256(1));
        bool fails = way == Way.RevertsWithMagic || way == Way.Reverts10MB;
        bool stops = way == Way.IsInvalid;
        assembly {
            mstore(0, magic)
            if stops { invalid() }
            if fails { revert(0, size) }
            return(0, size)
        }
    }
}
