" Vim syntax file: UPPAAL
" Made by `cargo xtask grammars` from the words of the front ends.

if exists("b:current_syntax")
  finish
endif

syntax case match
syntax keyword uppaalDeclaration IO after_update before_update branchpoint commit default gantt init priority process progress state system trans typedef
syntax keyword uppaalControl assert assign break continue do else for guard if return select switch sync while probability
syntax keyword uppaalOperator and exists forall imply not or sum sup inf bounds
syntax keyword uppaalType bool broadcast chan clock const double hybrid int meta scalar string struct urgent void
syntax keyword uppaalConstant deadlock false true
syntax match uppaalNumber "\<\d\+\>"
syntax region uppaalString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match uppaalComment "\/\/.*$"
syntax region uppaalComment start="/\*" end="\*/"

highlight default link uppaalDeclaration Structure
highlight default link uppaalControl Statement
highlight default link uppaalOperator Operator
highlight default link uppaalType Type
highlight default link uppaalConstant Constant
highlight default link uppaalNumber Number
highlight default link uppaalString String
highlight default link uppaalComment Comment

setlocal commentstring=//\ %s
let b:current_syntax = "uppaal"
