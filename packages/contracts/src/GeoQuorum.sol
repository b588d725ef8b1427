// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {IEAS} from "./eas/IEAS.sol";

/// @notice Functions of EAS with which the quorum attests and revokes.
interface IEASWriter {
    struct AttestationRequestData {
        address recipient;
        uint64 expirationTime;
        bool revocable;
        bytes32 refUID;
        bytes data;
        uint256 value;
    }

    struct AttestationRequest {
        bytes32 schema;
        AttestationRequestData data;
    }

    struct RevocationRequestData {
        bytes32 uid;
        uint256 value;
    }

    struct RevocationRequest {
        bytes32 schema;
        RevocationRequestData data;
    }

    function attest(AttestationRequest calldata request) external payable returns (bytes32);
    function revoke(RevocationRequest calldata request) external payable;
}

/// @title GeoQuorum
/// @notice Attests an answer to EAS if k of n operators of the Geospatial Attestation Service signed it. The quorum
/// is itself the attester, so a contract built on `GeoAnswers` or `GeoResolver` trusts a quorum by using its address
/// as `signer` and no proxy.
///
/// Operators belong to epochs. An epoch has a set of operators, a threshold and a period of validity. During
/// the overlap of two epochs both are valid. An epoch ends at the latest MAX_PERIOD after its start, and
/// MAX_OVERLAP after the start of the next one, so that no set of keys is valid indefinitely. A newly added
/// epoch replaces an epoch that has not started.
///
/// Signatures are ECDSA over EIP-712 typed data of the domain ("GeoQuorum", "1", chain id, this contract). They are
/// concatenated (r, s, v; 65 bytes each) in ascending order of the operators' indices, and a bitmap has the indices.
contract GeoQuorum {
    /// @notice Maximum number of operators: the bitmap has a bit for each.
    uint256 public constant MAX_OPERATORS = 255;

    /// @notice Answer that operators sign: an attestation's content, and the conditions for landing it.
    struct Answer {
        bytes32 schema;
        address recipient;
        /// Unix seconds; 0 means that the attestation does not expire.
        uint64 expirationTime;
        bool revocable;
        bytes32 refUID;
        bytes data;
        /// Last time at which the answer may land, Unix seconds.
        uint64 deadline;
        /// Epoch whose operators signed.
        uint32 epoch;
    }

    /// @notice Set of operators. The first epoch is 1; each following one has the next number.
    struct Epoch {
        /// Unix seconds, included.
        uint64 validFrom;
        /// Unix seconds, excluded.
        uint64 validUntil;
        /// Number of signatures that an answer needs.
        uint8 threshold;
        /// Ascending addresses; zero for an operator that was removed.
        address[] operators;
    }

    /// @dev An epoch in storage. Landing reads the first slot and the operators.
    struct StoredEpoch {
        /// Account whose code is a zero byte, so that it cannot run, and the operators, 20 bytes each: reading the
        /// code of one account costs less than one slot per signer.
        address operators;
        uint40 validFrom;
        uint40 validUntil;
        uint8 threshold;
        uint8 count;
        /// End that was signed or proposed. `validUntil` is earlier if a following epoch ends this one.
        uint40 plannedEnd;
    }

    /// @notice Longest period of an epoch.
    uint256 public constant MAX_PERIOD = 400 days;
    /// @notice Longest time for which an epoch remains valid after the next one starts.
    uint256 public constant MAX_OVERLAP = 7 days;

    bytes32 public constant ANSWER_TYPEHASH = keccak256(
        "Answer(bytes32 schema,address recipient,uint64 expirationTime,bool revocable,bytes32 refUID,bytes data,uint64 deadline,uint32 epoch)"
    );
    bytes32 public constant REVOCATION_TYPEHASH =
        keccak256("Revocation(bytes32 schema,bytes32 uid,uint64 deadline,uint32 epoch)");
    bytes32 public constant ROTATION_TYPEHASH = keccak256(
        "Rotation(uint32 next,uint64 validFrom,uint64 validUntil,uint8 threshold,address[] operators,uint64 deadline,uint32 epoch)"
    );

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant NAME_HASH = keccak256("GeoQuorum");
    bytes32 private constant VERSION_HASH = keccak256("1");
    /// @dev Half the order of secp256k1. A signature with a larger s is rejected, because it is the malleable
    /// form of another signature (EIP-2).
    uint256 private constant MAX_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    /// @notice EAS contract of this chain.
    IEAS public immutable eas;
    /// @notice Seconds from an owner's proposal to the start of its epoch, so that users have time to react.
    uint256 public immutable notice;
    uint256 private immutable _chainId;
    bytes32 private immutable _domain;

    /// @notice Account that may propose an epoch and remove an operator. Zero leaves both to the operators.
    address public owner;
    /// @notice Account that becomes the owner when it accepts.
    address public pendingOwner;
    /// @notice Number of the newest epoch.
    uint32 public latestEpoch;
    mapping(uint32 epoch => StoredEpoch) private _epochs;
    /// @notice True for the digest of an answer, revocation or rotation that was executed.
    mapping(bytes32 digest => bool) public used;

    /// @notice The operators in `signers` (bitmap) of the epoch signed the attestation `uid`.
    event Landed(bytes32 indexed uid, uint32 epoch, uint256 signers);
    event EpochAdded(
        uint32 indexed epoch, uint64 validFrom, uint64 validUntil, uint8 threshold, address[] operators
    );
    event OperatorRemoved(uint32 indexed epoch, uint256 index, address operator);
    event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    error NotOwner(address sender);
    /// @notice The sender is neither the owner nor the operator.
    error MayNotRemove(address sender);
    error DeadlinePassed(uint256 deadline);
    /// @notice An answer, revocation or rotation with this digest was executed.
    error AlreadyUsed(bytes32 key);
    error UnknownEpoch(uint256 epoch);
    /// @notice Only the operators of `current` may add an epoch.
    error NotCurrentEpoch(uint256 epoch, uint256 current);
    error EpochNotValid(uint256 epoch, uint256 validFrom, uint256 validUntil);
    error TooFewSigners(uint256 actual, uint256 threshold);
    /// @notice Neither the bitmap nor a call may name `index`, or a higher index: the epoch has no such
    /// operator.
    error UnknownOperator(uint256 index);
    error WrongSignatureLength(uint256 actual, uint256 expected);
    /// @notice The signature for operator `index` is by another key, or not in canonical form.
    error WrongSignature(uint256 index);
    error WrongThreshold(uint256 threshold, uint256 operators);
    error TooManyOperators(uint256 operators);
    /// @notice Operators are not in strictly ascending order, or the first one is zero.
    error OperatorsNotAscending(uint256 index);
    /// @notice An epoch ends after it starts, in the future, and at most MAX_PERIOD after its start.
    error WrongPeriod(uint256 validFrom, uint256 validUntil);
    /// @notice The epoch must start at `earliest` or later, because an owner proposed it.
    error NoticeTooShort(uint256 validFrom, uint256 earliest);

    /// @param owner_ Account that may propose epochs and remove operators; zero for none.
    /// @param notice_ Seconds from an owner's proposal to the start of its epoch.
    /// @param first Epoch 1.
    constructor(IEAS eas_, address owner_, uint256 notice_, Epoch memory first) {
        eas = eas_;
        notice = notice_;
        owner = owner_;
        _chainId = block.chainid;
        _domain = _buildDomain();
        emit OwnershipTransferred(address(0), owner_);
        _addEpoch(first);
    }

    // ---------------------------------------------------------------------------------------------------------------
    // Answers
    // ---------------------------------------------------------------------------------------------------------------

    /// @notice Attests an answer to EAS, once. Anyone may call it. Reverts with DeadlinePassed, AlreadyUsed,
    /// UnknownEpoch, EpochNotValid, TooFewSigners, UnknownOperator, WrongSignatureLength or WrongSignature, and with
    /// the errors of EAS and of the schema's resolver.
    /// @param signers Bitmap: bit i stands for operator i of the epoch.
    /// @param signatures One signature of 65 bytes (r, s, v) per bit, lowest index first.
    /// @return uid UID of the attestation.
    function land(Answer calldata answer, uint256 signers, bytes calldata signatures)
        external
        returns (bytes32 uid)
    {
        bytes32 digest = digestOf(answer);
        _execute(digest, answer.deadline, answer.epoch, signers, signatures);
        uid = IEASWriter(address(eas))
            .attest(
                IEASWriter.AttestationRequest(
                    answer.schema,
                    IEASWriter.AttestationRequestData(
                        answer.recipient,
                        answer.expirationTime,
                        answer.revocable,
                        answer.refUID,
                        answer.data,
                        0
                    )
                )
            );
        emit Landed(uid, answer.epoch, signers);
    }

    /// @notice Revokes an attestation of this quorum. Reverts like `land`.
    function revoke(
        bytes32 schema,
        bytes32 uid,
        uint64 deadline,
        uint32 epoch,
        uint256 signers,
        bytes calldata signatures
    ) external {
        bytes32 digest = _typedDigest(
            keccak256(abi.encode(REVOCATION_TYPEHASH, schema, uid, deadline, epoch))
        );
        _execute(digest, deadline, epoch, signers, signatures);
        IEASWriter(address(eas))
            .revoke(IEASWriter.RevocationRequest(schema, IEASWriter.RevocationRequestData(uid, 0)));
    }

    /// @notice Returns the EIP-712 digest that operators sign for an answer.
    function digestOf(Answer calldata answer) public view returns (bytes32) {
        return _typedDigest(
            keccak256(
                abi.encode(
                    ANSWER_TYPEHASH,
                    answer.schema,
                    answer.recipient,
                    answer.expirationTime,
                    answer.revocable,
                    answer.refUID,
                    keccak256(answer.data),
                    answer.deadline,
                    answer.epoch
                )
            )
        );
    }

    // ---------------------------------------------------------------------------------------------------------------
    // Epochs
    // ---------------------------------------------------------------------------------------------------------------

    /// @notice Adds the next epoch on behalf of the owner. It must start at least `notice` seconds from now.
    /// Reverts with NotOwner, NoticeTooShort, WrongPeriod, WrongThreshold, TooManyOperators or
    /// OperatorsNotAscending.
    function propose(Epoch calldata next) external {
        _requireOwner();
        if (next.validFrom < block.timestamp + notice) {
            revert NoticeTooShort(next.validFrom, block.timestamp + notice);
        }
        _addEpoch(next);
    }

    /// @notice Adds the next epoch, signed by the operators of the current one. Reverts like `land` and
    /// `propose`, and with NotCurrentEpoch. The signatures cover the number of the next epoch, so they become
    /// void once another epoch is added.
    function rotate(
        Epoch calldata next,
        uint64 deadline,
        uint32 epoch,
        uint256 signers,
        bytes calldata signatures
    ) external {
        uint32 current = currentEpoch();
        if (epoch != current) revert NotCurrentEpoch(epoch, current);
        _execute(rotationDigest(next, deadline, epoch), deadline, epoch, signers, signatures);
        _addEpoch(next);
    }

    /// @notice Returns the EIP-712 digest that operators sign for the next epoch.
    function rotationDigest(Epoch calldata next, uint64 deadline, uint32 epoch)
        public
        view
        returns (bytes32)
    {
        return _typedDigest(
            keccak256(
                abi.encode(
                    ROTATION_TYPEHASH,
                    latestEpoch + 1,
                    next.validFrom,
                    next.validUntil,
                    next.threshold,
                    keccak256(abi.encodePacked(next.operators)),
                    deadline,
                    epoch
                )
            )
        );
    }

    /// @notice Removes an operator from an epoch at once: by the owner, or by the operator's own key. The threshold
    /// stays. Reverts with UnknownOperator or MayNotRemove.
    function remove(uint32 epoch, uint256 index) external {
        StoredEpoch storage stored = _epochs[epoch];
        address[] memory operators = _operatorsOf(stored);
        address operator = index < operators.length ? operators[index] : address(0);
        if (operator == address(0)) revert UnknownOperator(index);
        if (msg.sender != owner && msg.sender != operator) revert MayNotRemove(msg.sender);
        operators[index] = address(0);
        stored.operators = _store(operators);
        emit OperatorRemoved(epoch, index, operator);
    }

    /// @notice Returns the number of the newest epoch that has started; 0 before the first one starts. It may
    /// have ended. Only its operators may rotate, even while an earlier epoch is still valid.
    function currentEpoch() public view returns (uint32 epoch) {
        epoch = latestEpoch;
        while (epoch != 0 && (_epochs[epoch].validFrom > block.timestamp || _epochs[epoch].validUntil == 0)) {
            --epoch;
        }
    }

    /// @notice Returns an epoch. An epoch without operators does not exist; one with `validUntil` 0 was
    /// replaced.
    function epochOf(uint32 epoch) external view returns (Epoch memory) {
        StoredEpoch storage stored = _epochs[epoch];
        return Epoch(stored.validFrom, stored.validUntil, stored.threshold, _operatorsOf(stored));
    }

    // ---------------------------------------------------------------------------------------------------------------
    // Ownership
    // ---------------------------------------------------------------------------------------------------------------

    /// @notice Offers the ownership to an account, which accepts it by `acceptOwnership`.
    function transferOwnership(address newOwner) external {
        _requireOwner();
        pendingOwner = newOwner;
        emit OwnershipTransferStarted(owner, newOwner);
    }

    function acceptOwnership() external {
        if (msg.sender != pendingOwner) revert NotOwner(msg.sender);
        _setOwner(msg.sender);
    }

    /// @notice Leaves the quorum to its operators permanently.
    function renounceOwnership() external {
        _requireOwner();
        _setOwner(address(0));
    }

    // ---------------------------------------------------------------------------------------------------------------

    /// @dev Checks deadline, epoch and signatures, and marks the digest as used before anything else is called.
    function _execute(
        bytes32 digest,
        uint256 deadline,
        uint32 epoch,
        uint256 signers,
        bytes calldata signatures
    ) private {
        if (deadline < block.timestamp) revert DeadlinePassed(deadline);
        if (used[digest]) revert AlreadyUsed(digest);
        used[digest] = true;
        StoredEpoch storage stored = _epochs[epoch];
        (uint256 validFrom, uint256 validUntil, uint256 threshold, uint256 count) =
            (stored.validFrom, stored.validUntil, stored.threshold, stored.count);
        if (threshold == 0) revert UnknownEpoch(epoch);
        if (block.timestamp < validFrom || block.timestamp >= validUntil) {
            revert EpochNotValid(epoch, validFrom, validUntil);
        }
        if (signers >> count != 0) revert UnknownOperator(count);
        uint256 signed = _requireSignatures(digest, _packedOperators(stored), signers, signatures);
        if (signed < threshold) revert TooFewSigners(signed, threshold);
    }

    /// @dev Returns the number of signatures. Requires exactly one for each operator in the bitmap.
    function _requireSignatures(
        bytes32 digest,
        bytes memory operators,
        uint256 signers,
        bytes calldata signatures
    ) private pure returns (uint256 signed) {
        // Index, count and length are at most MAX_OPERATORS and 65 times that.
        unchecked {
            for (uint256 i = 0; signers != 0; (signers >>= 1, ++i)) {
                if (signers & 1 == 0) continue;
                uint256 end = 65 * (signed + 1);
                if (end > signatures.length) revert WrongSignatureLength(signatures.length, end);
                (bytes32 r, bytes32 s, uint8 v) = _signatureAt(signatures, end - 65);
                // v must be 27 or 28. Any other value makes the difference larger than 1, or wraps around.
                if (uint256(s) > MAX_S || v - 27 > 1) revert WrongSignature(i);
                address signer = ecrecover(digest, v, r, s);
                if (signer == address(0) || signer != _operatorAt(operators, i)) revert WrongSignature(i);
                ++signed;
            }
            if (signatures.length != 65 * signed) {
                revert WrongSignatureLength(signatures.length, 65 * signed);
            }
        }
    }

    /// @dev The caller checks the length.
    function _signatureAt(bytes calldata signatures, uint256 offset)
        private
        pure
        returns (bytes32 r, bytes32 s, uint8 v)
    {
        assembly ("memory-safe") {
            let start := add(signatures.offset, offset)
            r := calldataload(start)
            s := calldataload(add(start, 32))
            v := byte(0, calldataload(add(start, 64)))
        }
    }

    /// @dev Returns the operators of an epoch, 20 bytes each; nothing for an unknown epoch.
    function _packedOperators(StoredEpoch storage stored) private view returns (bytes memory packed) {
        address account = stored.operators;
        packed = new bytes(20 * uint256(stored.count));
        assembly ("memory-safe") {
            extcodecopy(account, add(packed, 32), 1, mload(packed))
        }
    }

    /// @dev Returns an operator of `_packedOperators`. The caller checks the index.
    function _operatorAt(bytes memory packed, uint256 index) private pure returns (address operator) {
        assembly ("memory-safe") {
            operator := shr(96, mload(add(add(packed, 32), mul(index, 20))))
        }
    }

    function _operatorsOf(StoredEpoch storage stored) private view returns (address[] memory operators) {
        bytes memory packed = _packedOperators(stored);
        operators = new address[](stored.count);
        for (uint256 i = 0; i < operators.length; ++i) {
            operators[i] = _operatorAt(packed, i);
        }
    }

    /// @dev Creates the account of `StoredEpoch.operators`.
    function _store(address[] memory operators) private returns (address account) {
        uint256 length = 20 * operators.length;
        // 32 bytes are written for each operator. The following one overwrites the last 12.
        bytes memory packed = new bytes(length + 12);
        for (uint256 i = 0; i < operators.length; ++i) {
            address operator = operators[i];
            assembly ("memory-safe") {
                mstore(add(add(packed, 32), mul(i, 20)), shl(96, operator))
            }
        }
        assembly ("memory-safe") {
            mstore(packed, length)
        }
        // Returns the bytes after these 11: PUSH1 11, MSIZE, DUP2, CODESIZE, SUB, DUP1, SWAP3, MSIZE, CODECOPY, RETURN.
        bytes memory creation = bytes.concat(hex"600b5981380380925939f3", hex"00", packed);
        assembly ("memory-safe") {
            account := create(0, add(creation, 32), mload(creation))
        }
        assert(account != address(0));
    }

    /// @dev Adds an epoch. It replaces an epoch that has not started. It ends the current epoch at most
    /// MAX_OVERLAP after its own start, even if the replaced epoch would have ended the current one at
    /// another time. Epochs before the current one were ended in this way when the current one was added.
    function _addEpoch(Epoch memory next) private {
        uint256 count = next.operators.length;
        if (next.threshold == 0 || next.threshold > count) revert WrongThreshold(next.threshold, count);
        if (count > MAX_OPERATORS) revert TooManyOperators(count);
        address previous = address(0);
        for (uint256 i = 0; i < count; ++i) {
            if (next.operators[i] <= previous) revert OperatorsNotAscending(i);
            previous = next.operators[i];
        }
        (uint256 validFrom, uint256 validUntil) = (next.validFrom, next.validUntil);
        if (
            validUntil <= validFrom || validUntil <= block.timestamp || validUntil > validFrom + MAX_PERIOD
                || validFrom > block.timestamp + MAX_PERIOD
        ) revert WrongPeriod(validFrom, validUntil);
        uint256 end = (validFrom < block.timestamp ? block.timestamp : validFrom) + MAX_OVERLAP;
        uint32 current = currentEpoch();
        // Only the latest epoch can be one that has not started, because each one replaces the one before.
        if (latestEpoch != current) _epochs[latestEpoch].validUntil = 0;
        StoredEpoch storage running = _epochs[current];
        // The smaller one is a uint40.
        // forge-lint: disable-next-line(unsafe-typecast)
        running.validUntil = running.plannedEnd < end ? running.plannedEnd : uint40(end);
        uint32 number = ++latestEpoch;
        // Times are at most twice MAX_PERIOD from now, and there are at most MAX_OPERATORS.
        // forge-lint: disable-start(unsafe-typecast)
        _epochs[number] = StoredEpoch(
            _store(next.operators),
            uint40(validFrom),
            uint40(validUntil),
            next.threshold,
            uint8(count),
            uint40(validUntil)
        );
        // forge-lint: disable-end(unsafe-typecast)
        emit EpochAdded(number, next.validFrom, next.validUntil, next.threshold, next.operators);
    }

    function _requireOwner() private view {
        if (msg.sender != owner) revert NotOwner(msg.sender);
    }

    function _setOwner(address newOwner) private {
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
        pendingOwner = address(0);
    }

    function _typedDigest(bytes32 structHash) private view returns (bytes32) {
        // The domain has the chain ID, so that after a fork of the chain, signatures for one branch are void
        // on the other.
        bytes32 domain = block.chainid == _chainId ? _domain : _buildDomain();
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    function _buildDomain() private view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, NAME_HASH, VERSION_HASH, block.chainid, address(this)));
    }
}
