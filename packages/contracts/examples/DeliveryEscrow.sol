// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {GeoInputs} from "@geospatial-attestation/contracts/src/GeoInputs.sol";
import {Attestation, IEAS} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title DeliveryEscrow
/// @notice Holds a payment for a delivery inside the agreed zone that is observed and attested by the deadline.
/// Without one, the buyer gets the payment back, after the courier has had time to settle a last-minute delivery.
/// The answer is contains(container: the zone, geometry: the delivery attestation), and its recipient is the
/// courier. The delivery's recipient is an address of the order, so that the delivery counts for this order only.
contract DeliveryEscrow {
    using GeoAnswers for GeoAnswers.BooleanAnswer;

    struct Order {
        address buyer;
        address courier;
        /// Attester of the delivery, whose recipient is recipientOf(number). It must attest after the order
        /// is final, because a reorg may assign its number to another order. Both parties trust it: for
        /// example, a parcel locker.
        address witness;
        /// Reference of the zone: the hash of a polygon that both parties know. The attester of a zone that is
        /// the UID of an attestation could revoke it after the delivery, and nobody could settle then.
        bytes32 zone;
        uint64 placed;
        /// Last second in which the delivery may be observed and attested.
        uint64 deadline;
        uint256 amount;
    }

    uint256 public constant ANSWER_MAX_AGE = 1 hours;
    /// @notice Seconds after the deadline in which the courier can land an answer and settle before anybody can
    /// refund: the service may be unavailable for hours.
    uint256 public constant SETTLING_TIME = 1 days;

    IEAS private immutable _eas;
    address private immutable _signer;
    address private immutable _proxy;
    bytes32 private immutable _answerSchema;
    bytes32 private immutable _locationSchema;

    /// @notice Orders by number, from 1. A settled order is empty.
    mapping(uint256 number => Order) public orders;
    uint256 public orderCount;

    event Placed(uint256 indexed number, address indexed buyer, address indexed courier, uint256 amount);
    event Paid(uint256 indexed number, bytes32 delivery);
    event Refunded(uint256 indexed number);

    error NoSuchOrder(uint256 number);
    /// @notice The delivery was attested after the deadline.
    error DeliveredLate(uint64 time, uint64 deadline);
    /// @notice Last second in which only the courier can settle; `refund` works after it.
    error NotYet(uint256 settleBy);

    constructor(IEAS eas, address signer, address proxy, bytes32 answerSchema, bytes32 locationSchema) {
        _eas = eas;
        _signer = signer;
        _proxy = proxy;
        _answerSchema = answerSchema;
        _locationSchema = locationSchema;
    }

    /// @notice Places an order. The payment is the value sent.
    function place(address courier, address witness, bytes32 zone, uint64 deadline)
        external
        payable
        returns (uint256 number)
    {
        number = ++orderCount;
        orders[number] =
            Order(msg.sender, courier, witness, zone, uint64(block.timestamp), deadline, msg.value);
        emit Placed(number, msg.sender, courier, msg.value);
    }

    /// @notice Recipient of an order's delivery attestation. Nobody has the key of this address, and no other
    /// order, escrow or chain has the address.
    function recipientOf(uint256 number) public view returns (address) {
        return address(uint160(uint256(keccak256(abi.encode(block.chainid, address(this), number)))));
    }

    /// @notice Pays the courier, also after the deadline, until the order is refunded. Anybody may call it.
    /// @param delivery UID of the delivery attestation.
    /// @param answer UID of the service's answer.
    function settle(uint256 number, bytes32 delivery, bytes32 answer) external {
        Order memory order = _close(number);
        // Attested since the order was placed.
        Attestation memory delivered = GeoInputs.requireAttestation(
            _eas,
            delivery,
            GeoInputs.Source(
                _locationSchema, order.witness, recipientOf(number), block.timestamp - order.placed
            )
        );
        if (delivered.time > order.deadline) revert DeliveredLate(delivered.time, order.deadline);
        // Observed before the deadline and not in the future, which nobody has observed.
        uint256 last = order.deadline < block.timestamp ? order.deadline : block.timestamp;
        GeoInputs.requireObserved(delivered, order.placed, last);
        GeoAnswers.Terms memory terms =
            GeoAnswers.Terms(_answerSchema, _signer, _proxy, order.courier, ANSWER_MAX_AGE);
        GeoAnswers.readBoolean(_eas, answer, terms).requireContains(order.zone, delivery);
        emit Paid(number, delivery);
        Address.sendValue(payable(order.courier), order.amount);
    }

    /// @notice Returns the payment, SETTLING_TIME after the deadline. Anybody may call it.
    function refund(uint256 number) external {
        Order memory order = _close(number);
        uint256 settleBy = order.deadline + SETTLING_TIME;
        if (block.timestamp <= settleBy) revert NotYet(settleBy);
        emit Refunded(number);
        Address.sendValue(payable(order.buyer), order.amount);
    }

    function _close(uint256 number) private returns (Order memory order) {
        order = orders[number];
        if (order.buyer == address(0)) revert NoSuchOrder(number);
        delete orders[number];
    }
}
