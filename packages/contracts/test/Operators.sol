// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoQuorum} from "../src/GeoQuorum.sol";
import {DelegatedRequest, World} from "./World.sol";
import {vm} from "./Vm.sol";

/// @notice A quorum of 3 of 5 operators, and their keys in the order of their addresses.
abstract contract Operators is World {
    uint256 internal constant NOTICE = 2 days;

    GeoQuorum internal quorum;
    address internal owner;
    uint256[5] internal keys;
    address[5] internal operators;
    /// @dev The JSON is parsed once, because parsing takes most of a test's time.
    GeoQuorum.Answer internal within;

    function setUp() public virtual override {
        super.setUp();
        owner = vm.addr(0x0E7);
        for (uint256 i = 0; i < 5; ++i) {
            uint256 key = 0x1000 + i;
            uint256 place = i;
            for (; place != 0 && operators[place - 1] > vm.addr(key); --place) {
                (keys[place], operators[place]) = (keys[place - 1], operators[place - 1]);
            }
            (keys[place], operators[place]) = (key, vm.addr(key));
        }
        quorum = new GeoQuorum(eas, owner, NOTICE, epochOf(block.timestamp, 300 days, 3));
        within = answerOf("within");
    }

    function epochOf(uint256 validFrom, uint256 period, uint8 threshold)
        internal
        view
        returns (GeoQuorum.Epoch memory epoch)
    {
        // forge-lint: disable-next-line(unsafe-typecast)
        (epoch.validFrom, epoch.validUntil) = (uint64(validFrom), uint64(validFrom + period));
        epoch.threshold = threshold;
        epoch.operators = new address[](5);
        for (uint256 i = 0; i < 5; ++i) {
            epoch.operators[i] = operators[i];
        }
    }

    /// @dev The service's answer in the form that operators of epoch 1 sign.
    function answerOf(string memory name) internal view returns (GeoQuorum.Answer memory) {
        DelegatedRequest memory request = answer(name, "signature");
        return GeoQuorum.Answer({
            schema: request.schema,
            recipient: request.data.recipient,
            expirationTime: request.data.expirationTime,
            revocable: request.data.revocable,
            refUID: request.data.refUID,
            data: request.data.data,
            deadline: request.deadline,
            epoch: 1
        });
    }

    function sign(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function signature(uint256 index, bytes32 digest) internal view returns (bytes memory) {
        return sign(keys[index], digest);
    }

    /// @dev Signatures of the operators in a bitmap, in ascending order.
    function signedBy(uint256 signers, bytes32 digest) internal view returns (bytes memory signatures) {
        for (uint256 i = 0; i < 5; ++i) {
            if ((signers >> i) & 1 != 0) signatures = bytes.concat(signatures, signature(i, digest));
        }
    }

    function countOf(uint256 signers) internal pure returns (uint256 count) {
        for (; signers != 0; signers >>= 1) {
            count += signers & 1;
        }
    }

    function landBy(GeoQuorum.Answer memory wanted, uint256 signers) internal returns (bytes32) {
        return quorum.land(wanted, signers, signedBy(signers, quorum.digestOf(wanted)));
    }

    function landed() internal returns (bytes32) {
        return landBy(within, 7);
    }

    /// @dev Adds an epoch, signed by three operators of the current one.
    function rotateTo(GeoQuorum.Epoch memory next) internal {
        (uint32 current, uint64 deadline) = (quorum.currentEpoch(), uint64(block.timestamp));
        bytes memory signatures = signedBy(7, quorum.rotationDigest(next, deadline, current));
        quorum.rotate(next, deadline, current, 7, signatures);
    }

    /// @dev EIP-712 digest of the quorum's domain, computed independently of the contract.
    function typed(bytes32 structHash) internal view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256("GeoQuorum"),
                keccak256("1"),
                block.chainid,
                quorum
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }
}
