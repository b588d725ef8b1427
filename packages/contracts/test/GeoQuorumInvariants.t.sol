// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoQuorum} from "../src/GeoQuorum.sol";
import {Operators} from "./Operators.sol";
import {vm} from "./Vm.sol";

/// @notice Random sequences of landing, rotating, removing and waiting, with signatures of random operators,
/// some of them altered. The model of the epochs is independent of the contract.
contract GeoQuorumInvariantsTest is Operators {
    struct Model {
        uint256 validFrom;
        uint256 validUntil;
        uint256 plannedEnd;
        /// End of the overlap with the epoch before.
        uint256 overlapUntil;
        uint256 threshold;
        bool[5] removed;
    }

    Model[] private models;
    uint256 public landedCount;
    bytes32[] private landedDigests;
    mapping(bytes32 digest => uint256) private landings;
    bool private wrong;

    function setUp() public override {
        super.setUp();
        models.push();
        models.push();
        _model(block.timestamp, 300 days, 3);
        bytes4[] memory selectors = new bytes4[](4);
        selectors[0] = this.tryLand.selector;
        selectors[1] = this.tryRotate.selector;
        selectors[2] = this.tryRemove.selector;
        selectors[3] = this.wait.selector;
        _selectors = selectors;
    }

    bytes4[] private _selectors;

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    function targetSelectors() public view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(this), _selectors);
    }

    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(this);
    }

    function tryLand(uint256 epoch, uint256 signers, uint256 altered, uint64 salt) external {
        epoch = epoch % models.length;
        signers = signers % 32;
        GeoQuorum.Answer memory wanted = within;
        wanted.deadline = uint64(block.timestamp + (salt % 3));
        wanted.expirationTime = type(uint64).max - (salt % 4);
        // forge-lint: disable-next-line(unsafe-typecast)
        wanted.epoch = uint32(epoch);
        bytes32 digest = quorum.digestOf(wanted);
        bytes memory signatures = signedBy(signers, digest);
        bool whole = altered % 4 != 0 || signatures.length == 0;
        if (!whole) signatures[altered % signatures.length] ^= 0x01;
        bool expected = whole && landings[digest] == 0 && _mayExecute(epoch, signers);
        try quorum.land(wanted, signers, signatures) returns (bytes32) {
            if (!expected) wrong = true;
            ++landings[digest];
            ++landedCount;
            landedDigests.push(digest);
        } catch {
            if (expected) wrong = true;
        }
    }

    function tryRotate(uint256 epoch, uint256 signers, uint256 delay, uint8 threshold) external {
        // Mostly the current epoch, so that sequences have many rotations.
        epoch = epoch % 4 == 0 ? (epoch / 4) % models.length : _current();
        signers = signers % 32;
        uint256 start = block.timestamp + (delay % 4) * 5 days - 5 days;
        GeoQuorum.Epoch memory next = epochOf(start, 40 days, threshold % 7);
        uint64 deadline = uint64(block.timestamp);
        // forge-lint: disable-next-line(unsafe-typecast)
        uint32 number = uint32(epoch);
        bytes memory signatures = signedBy(signers, quorum.rotationDigest(next, deadline, number));
        bool expected =
            epoch == _current() && _mayExecute(epoch, signers) && next.threshold != 0 && next.threshold <= 5;
        try quorum.rotate(next, deadline, number, signers, signatures) {
            if (!expected) wrong = true;
            for (uint256 i = _current() + 1; i < models.length; ++i) {
                models[i].validUntil = 0;
            }
            Model storage before = models[_current()];
            uint256 end = (start < block.timestamp ? block.timestamp : start) + 7 days;
            before.validUntil = before.plannedEnd < end ? before.plannedEnd : end;
            models.push();
            _model(start, 40 days, next.threshold);
        } catch {
            if (expected) wrong = true;
        }
    }

    function tryRemove(uint256 epoch, uint256 index, bool byOwner) external {
        epoch = epoch % models.length;
        index = index % 5;
        vm.prank(byOwner ? owner : operators[index]);
        // forge-lint: disable-next-line(unsafe-typecast)
        try quorum.remove(uint32(epoch), index) {
            if (models[epoch].removed[index] || epoch == 0) wrong = true;
            models[epoch].removed[index] = true;
        } catch {
            if (!models[epoch].removed[index] && epoch != 0) wrong = true;
        }
    }

    function wait(uint256 time) external {
        vm.warp(block.timestamp + time % 4 days);
    }

    /// @dev A call succeeds exactly if the model predicts it.
    function invariant_FollowsTheModel() public view {
        vm.assertFalse(wrong);
    }

    function invariant_LandsEachDigestOnce() public view {
        for (uint256 i = 0; i < landedDigests.length; ++i) {
            vm.assertEq(landings[landedDigests[i]], 1);
            vm.assertTrue(quorum.used(landedDigests[i]));
        }
    }

    /// @dev Only the current epoch is valid, and the epoch before it for at most MAX_OVERLAP after the
    /// current one starts, or is added if it started before.
    function invariant_EarlierEpochsEnd() public view {
        uint32 now_ = quorum.currentEpoch();
        vm.assertEq(now_, _current());
        for (uint32 i = 1; i < now_; ++i) {
            uint256 end = quorum.epochOf(i).validUntil;
            vm.assertEq(end, models[i].validUntil);
            vm.assertTrue(end <= models[now_].overlapUntil);
        }
    }

    // ---------------------------------------------------------------------------------------------------------------

    function _model(uint256 validFrom, uint256 period, uint256 threshold) private {
        Model storage model = models[models.length - 1];
        model.validFrom = validFrom;
        model.overlapUntil = (validFrom < block.timestamp ? block.timestamp : validFrom) + 7 days;
        model.validUntil = model.plannedEnd = validFrom + period;
        model.threshold = threshold;
    }

    function _current() private view returns (uint256 found) {
        for (uint256 i = 1; i < models.length; ++i) {
            if (models[i].validUntil != 0 && models[i].validFrom <= block.timestamp) found = i;
        }
    }

    function _mayExecute(uint256 epoch, uint256 signers) private view returns (bool) {
        Model storage model = models[epoch];
        if (block.timestamp < model.validFrom || block.timestamp >= model.validUntil) return false;
        for (uint256 i = 0; i < 5; ++i) {
            if ((signers >> i) & 1 != 0 && model.removed[i]) return false;
        }
        return countOf(signers) >= model.threshold;
    }
}
