// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

struct PackedUserOperation {
    address sender; uint256 nonce; bytes initCode; bytes callData;
    bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees;
    bytes paymasterAndData; bytes signature;
}

interface IEntryPoint {
    function withdrawTo(address payable to, uint256 amount) external;
    function addStake(uint32 unstakeDelaySec) external payable;
    function unlockStake() external;
    function withdrawStake(address payable to) external;
}

/// Paymaster for EntryPoint 0.9 that pays for every operation its signer has signed. Not audited. paymasterAndData, 181 bytes:
///  paymaster 20, verificationGasLimit 16, postOpGasLimit 16, validUntil 32, validAfter 32, signature 65;
/// or 191 bytes, with the tail of EntryPoint 0.9: the same, then uint16 65 and the magic. The hash is the same for both.
contract VerifyingPaymaster09 {
    uint256 private constant halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;
    /// The length 65, and keccak256("PaymasterSignature")[:8].
    bytes10 private constant tail = 0x004122e325a297439656;

    IEntryPoint public immutable entryPoint;
    address public immutable owner;
    address public verifyingSigner;

    event VerifyingSignerChanged(address indexed oldSigner, address indexed newSigner);

    error CallerNotAllowed(address caller);
    error InvalidValue(uint256 value);

    modifier only(address allowed) { if (msg.sender != allowed) revert CallerNotAllowed(msg.sender); _; }

    constructor(address entryPoint_, address owner_, address signer_) {
        (entryPoint, owner, verifyingSigner) = (IEntryPoint(entryPoint_), owner_, signer_);
    }

    function setSigner(address signer) external only(owner) {
        if (signer == address(0)) revert InvalidValue(0);
        emit VerifyingSignerChanged(verifyingSigner, signer);
        verifyingSigner = signer;
    }

    /// Anybody may pay in with `depositTo` of the EntryPoint.
    function withdrawTo(address payable to, uint256 amount) external only(owner) { entryPoint.withdrawTo(to, amount); }
    function addStake(uint32 unstakeDelaySec) external payable only(owner) { entryPoint.addStake{value: msg.value}(unstakeDelaySec); }
    function unlockStake() external only(owner) { entryPoint.unlockStake(); }
    function withdrawStake(address payable to) external only(owner) { entryPoint.withdrawStake(to); }

    function getHash(PackedUserOperation calldata op, uint48 validUntil, uint48 validAfter) public view returns (bytes32) {
        return keccak256(abi.encode(
            op.sender, op.nonce, keccak256(op.initCode), keccak256(op.callData), op.accountGasLimits, bytes32(op.paymasterAndData[20:52]),
            op.preVerificationGas, op.gasFees, block.chainid, address(this), validUntil, validAfter
        ));
    }

    function validatePaymasterUserOp(PackedUserOperation calldata op, bytes32, uint256) external view only(address(entryPoint)) returns (bytes memory, uint256) {
        bytes calldata data = op.paymasterAndData;
        // A tail of any other length would let a bundler add bytes that nobody signed.
        if (data.length != 181 && !(data.length == 191 && bytes10(data[181:]) == tail)) revert InvalidValue(data.length);
        (uint48 until, uint48 from) = abi.decode(data[52:116], (uint48, uint48));
        return ("", _validation(getHash(op, until, from), data[116:181], until, from));
    }

    /// EIP-191 signature r, s, v with low s; a wrong one is reported to the EntryPoint, so that estimates with a stub run through.
    function _validation(bytes32 hash, bytes calldata sig, uint48 until, uint48 from) private view returns (uint256) {
        bytes32 digest = keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", hash));
        bytes32 s = bytes32(sig[32:64]);
        address signer = uint256(s) > halfOrder ? address(0) : ecrecover(digest, uint8(sig[64]), bytes32(sig[:32]), s);
        return (signer != address(0) && signer == verifyingSigner ? 0 : 1) | (uint256(until) << 160) | (uint256(from) << 208);
    }
}
