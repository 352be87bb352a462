// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {PaymasterSigner} from "@openzeppelin/contracts/account/paymaster/extensions/PaymasterSigner.sol";
import {EIP7702Utils} from "@openzeppelin/contracts/account/utils/EIP7702Utils.sol";
import {ERC4337Utils, PackedUserOperation} from "@openzeppelin/contracts/account/utils/ERC4337Utils.sol";
import {IEntryPoint} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignerECDSA} from "@openzeppelin/contracts/utils/cryptography/signers/SignerECDSA.sol";

/// The published contract, made concrete.
contract AsPublished is PaymasterSigner, SignerECDSA {
    IEntryPoint private immutable _entryPoint;

    constructor(address entryPoint_, address signer_) EIP712("Test Paymaster", "1") SignerECDSA(signer_) {
        _entryPoint = IEntryPoint(entryPoint_);
    }

    function entryPoint() public view override returns (IEntryPoint) { return _entryPoint; }
}

/// Takes its signature from the tail of EntryPoint 0.9 where there is one.
contract ReadsTail is AsPublished {
    constructor(address entryPoint_, address signer_) AsPublished(entryPoint_, signer_) {}

    function _decodePaymasterUserOp(PackedUserOperation calldata op) internal pure override returns (uint48 from, uint48 until, bytes calldata signature) {
        (from, until, signature) = super._decodePaymasterUserOp(op);
        bytes calldata inTail = ERC4337Utils.paymasterSignature(op);
        if (inTail.length > 0) signature = inTail;
    }
}

/// Hashes the delegate of an EIP-7702 account instead of the marker, as releases after 5.7 do.
contract HashesDelegate is AsPublished {
    bytes32 private constant requestType = keccak256("UserOperationRequest(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,uint256 paymasterVerificationGasLimit,uint256 paymasterPostOpGasLimit,uint48 validAfter,uint48 validUntil)");

    constructor(address entryPoint_, address signer_) AsPublished(entryPoint_, signer_) {}

    function _signableUserOpHash(PackedUserOperation calldata op, uint48 from, uint48 until) internal view override returns (bytes32) {
        bytes memory initCode = op.initCode;
        if (bytes20(initCode) == bytes20(bytes2(0x7702))) {
            bytes calldata rest = op.initCode.length > 20 ? op.initCode[20:] : op.initCode[:0];
            initCode = bytes.concat(bytes20(EIP7702Utils.fetchDelegate(op.sender)), rest);
        }
        return _hashTypedDataV4(keccak256(bytes.concat(
            abi.encode(requestType, op.sender, op.nonce, keccak256(initCode), keccak256(op.callData), op.accountGasLimits, op.preVerificationGas, op.gasFees),
            abi.encode(ERC4337Utils.paymasterVerificationGasLimit(op), ERC4337Utils.paymasterPostOpGasLimit(op), from, until)
        )));
    }
}
