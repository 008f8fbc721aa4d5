package compile
import ("testing";"context";"fmt";"strings";"time";"runtime")
func TestZZ(t *testing.T){
 rep:=strings.Repeat
 var consts strings.Builder
 for i:=0;i<8000;i++ { fmt.Fprintf(&consts,"a=%d ",i+10000) }
 names:=func(n int,p string)string{ var s []string; for i:=0;i<n;i++ {s=append(s,fmt.Sprintf("%s%d",p,i))}; return strings.Join(s,",")}
 fit:=func(head,body,tail string)string{ n:=(1<<20-len(head)-len(tail))/len(body); return head+rep(body,n)+tail}
 cases:=map[string]string{
  "assign": fit("","x=1 ",""),
  "ifs": fit("","if x then y() end ",""),
  "tables": fit("x={","{},","}"),
  "numbers": fit("x={","1,","}"),
  "do end": fit("","do end ",""),
  "functions": fit("","function f()end ",""),
  "consts60k": consts.String()[:60000],
  "constsrefs": fit(consts.String(),"a=17999 ",""),
  "idents": fit("local "+names(190,"a")+" ","x=y ",""),
  "nested idents": fit(rep("local "+names(190,"a")+" do local function f() ",60), "x=y ", rep(" end end ",60)),
  "calls": fit("","f(g(h(1)))",""),
  "arith": fit("","x=1"+rep("+1",999)+" ",""),
  "arith2": fit("","x=1"+rep("+y",999)+" ",""),
  "and": fit("","x=y"+rep(" and y",999)+" ",""),
  "concat": fit("","x=y"+rep("..y",150)+" ",""),
  "parens": fit("x=",rep("(",100)+"1"+rep(")",100)+"+",rep("(",100)+"1"+rep(")",100)),
  "calls chain": fit("","x=f"+rep("()",999)+" ",""),
  "elseif": fit("","if x then "+rep("elseif x then ",999)+"end ",""),
  "gotos": fit("",rep("goto a ",1000)+"::a:: ",""),
  "labels": func()string{ var b strings.Builder; for i:=0; b.Len()<1<<20-20;i++ {fmt.Fprintf(&b,"::a%d:: ",i)}; return b.String()}(),
  "gotos1": func()string{ var b strings.Builder; for i:=0; b.Len()<1<<20-20;i++ {fmt.Fprintf(&b,"::a%d:: goto a%d ",i,i)}; return b.String()}(),
  "wide if":fit("", "if x then do x=y end end ", ""),
  "multi": fit("","a,b=b,a ",""),
  "comments": fit("","--[[ ]]",""),
  "strings": fit("x={","'',","}"),
  "shebang ": fit("#!",rep("x",100),""),
  "not": fit("","x="+rep("not ",990)+"y ",""),
  "local":fit("","local a ",""),
  "closures":fit("local a ","f(function()return a end)",""),
 }
 for n,s:=range cases { c:=New(Limits{});
  var m0,m1 runtime.MemStats; runtime.GC(); runtime.ReadMemStats(&m0)
  t0:=time.Now(); _,err:=c.Compile(context.Background(),"x",s); d:=time.Since(t0); runtime.ReadMemStats(&m1)
  e:=""; if err!=nil{e=err.Error()}; 
  if len(e)>90{e=e[:90]}
  fmt.Printf("%-14s %8d %12v alloc %4dMB cache %4dMB %s\n",n,len(s),d.Round(time.Millisecond),(m1.TotalAlloc-m0.TotalAlloc)>>20, c.cache.bytes>>20, e) }
}
