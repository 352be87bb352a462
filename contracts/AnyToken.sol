// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// A token of any symbol, any decimals and bad manners, for tests. Anybody may mint. Worth nothing.
contract AnyToken {
    /// plain; silent: returns nothing, as some old tokens do; taxed: half of every transferFrom vanishes;
    /// idle: transferFrom answers true and moves nothing; frozen: transferFrom reverts; refusing: it answers false; hungry: it burns
    /// all gas; bombing: it answers with very many bytes, or reverts with them (exploding); denying: it does its work and answers false.
    enum Manners { plain, silent, taxed, idle, frozen, refusing, hungry, bombing, exploding, denying }

    string public symbol;
    uint8 public immutable decimals;
    Manners public immutable manners;
    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;
    mapping(address account => mapping(address spender => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed account, address indexed spender, uint256 value);

    error InsufficientBalance(uint256 balance, uint256 needed);
    error InsufficientAllowance(uint256 allowance, uint256 needed);
    error Frozen(address account);

    constructor(string memory symbol_, uint8 decimals_, Manners manners_) {
        (symbol, decimals, manners) = (symbol_, decimals_, manners_);
    }

    function mint(address to, uint256 amount) external {
        totalSupply += amount;
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function approve(address spender, uint256 amount) external {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        _answer();
    }

    function transfer(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
        _answer();
    }

    function transferFrom(address from, address to, uint256 amount) external {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < amount) revert InsufficientAllowance(allowed, amount);
        if (manners == Manners.frozen) revert Frozen(from);
        if (manners == Manners.hungry) while (true) totalSupply;
        if (manners == Manners.refusing) _finish(0);
        if (manners == Manners.exploding) _explode(false);
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - amount;
        if (manners != Manners.idle) _move(from, to, amount);
        if (manners == Manners.taxed) _move(to, address(0xdead), amount / 2);
        if (manners == Manners.bombing) _explode(true);
        _finish(manners == Manners.denying ? 0 : 1);
    }

    function _move(address from, address to, uint256 amount) private {
        if (balanceOf[from] < amount) revert InsufficientBalance(balanceOf[from], amount);
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }

    /// As many bytes as the gas that is left pays for, nearly.
    function _explode(bool succeeds) private view {
        uint256 size = gasleft() * 6;
        assembly {
            mstore(0, 1)
            if succeeds { return(0, size) }
            revert(0, size)
        }
    }

    function _answer() private view {
        _finish(1);
    }

    /// Ends the call with this word, unless the token is silent.
    function _finish(uint256 word) private view {
        bool isSilent = manners == Manners.silent;
        assembly {
            mstore(0, word)
            return(0, mul(32, iszero(isSilent)))
        }
    }
}
