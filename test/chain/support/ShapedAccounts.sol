// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {ERC7821} from "solady/src/accounts/ERC7821.sol";
import {IAccount, PackedUserOperation} from "@openzeppelin/contracts/interfaces/IERC4337.sol";

/// Accepts every operation, and makes calls as accounts do whose code no package has. ERC-7821 is Solady's own, any opData passing.
abstract contract Shaped is ERC7821, IAccount {
    struct BatchedCall {
        Call[] calls;
        bool revertOnFailure;
    }

    function validateUserOp(PackedUserOperation calldata, bytes32, uint256 missing) external returns (uint256) {
        if (missing > 0) {
            (bool paid,) = msg.sender.call{value: missing}("");
            paid;
        }
        return 0;
    }

    function _execute(bytes32, bytes calldata, Call[] calldata calls, bytes calldata) internal override {
        _execute(calls, bytes32(0));
    }

    function batched(BatchedCall memory batch) internal {
        for (uint256 i = 0; i < batch.calls.length; i++) {
            Call memory each = batch.calls[i];
            address to = each.to == address(0) ? address(this) : each.to;
            (bool success,) = to.call{value: each.value}(each.data);
            require(success || !batch.revertOnFailure);
        }
    }
}

/// The shape of Calibur: the batch alone follows the selector of executeUserOp.
contract CaliburShaped is Shaped {
    function execute(BatchedCall memory batch) external payable {
        batched(batch);
    }

    function executeUserOp(PackedUserOperation calldata op, bytes32) external payable {
        batched(abi.decode(op.callData[4:], (BatchedCall)));
    }
}

/// The shape of Kernel 3 and Modular Account v2: a call of the account itself follows it. And the function of MetaMask's accounts.
contract KernelShaped is Shaped {
    function execute(Call calldata each) external payable {
        (bool success,) = each.to.call{value: each.value}(each.data);
        require(success);
    }

    function executeUserOp(PackedUserOperation calldata op, bytes32) external payable {
        (bool success,) = address(this).delegatecall(op.callData[4:]);
        require(success);
    }
}

/// Kernel 0.2.1: operation 1 is a delegate call.
contract KernelTwoShaped is Shaped {
    function execute(address to, uint256 value, bytes memory data, uint8 operation) external payable {
        require(operation < 2);
        (bool success,) = operation == 1 ? to.delegatecall(data) : to.call{value: value}(data);
        require(success);
    }
}
