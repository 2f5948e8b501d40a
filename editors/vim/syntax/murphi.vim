" Vim syntax file: Murphi
" Made by `cargo xtask grammars` from the words of the front ends.

if exists("b:current_syntax")
  finish
endif

syntax case ignore
syntax keyword murphiDeclaration assume const cover ctl externfun externproc fairness function invariant liveness ltl pctl procedure rule ruleset startstate type var
syntax keyword murphiControl alias assert begin by case choose clear do else elsif end endalias endchoose endexists endfor endforall endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch endwhile error for if put return switch then to undefine while
syntax keyword murphiOperator always eventually exists forall next
syntax keyword murphiType array boolean enum multiset of real record scalarset union
syntax keyword murphiConstant false true undefined
syntax keyword murphiFunction ismember isundefined multisetadd multisetcount multisetremove multisetremovepred
syntax match murphiNumber "\<\d\+\>"
syntax region murphiString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match murphiComment "--.*$"
syntax region murphiComment start="/\*" end="\*/"

highlight default link murphiDeclaration Structure
highlight default link murphiControl Statement
highlight default link murphiOperator Operator
highlight default link murphiType Type
highlight default link murphiConstant Constant
highlight default link murphiFunction Function
highlight default link murphiNumber Number
highlight default link murphiString String
highlight default link murphiComment Comment

setlocal commentstring=--\ %s
let b:current_syntax = "murphi"
