# SPDX-License-Identifier: Apache-2.0
"""Personal names: common given names of several languages, and the form of full names.

A modest list: it does not know every name, only enough of them that a column of names is recognised by a good part of
its cells. Words that are also months, places, plants or colours are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from anonkit.drafting.identifying.header_words import vocabulary
from anonkit.drafting.identifying.kinds import Kind

GIVEN_NAMES = vocabulary(
    """
    aaron abigail adam adrian agnes alan albert alejandro alex alexander alexandra alfred alice alicia allison
    amanda amelia amy ana andrea andreas andrew angela anita anja ann anna anne annette annie anthony antje
    anton antonio arthur astrid barbara bastian beatrice beatriz benedikt benjamin bernard bernd bernhard beth
    betty bianca birgit björn bjorn brandon brenda brian bridget bruce bruno caitlin carl carla carlos carmen
    carol caroline catherine cecilia charles charlie chiara chloe chris christa christian christiane christina
    christine christoph christopher claire clara claudia claudio clemens colin connor craig cristina cynthia
    dagmar daniel daniela danielle david deborah denise dennis derek diana diane dieter dirk dmitri dominik
    donald donna dorothea dorothy douglas edith eduard eduardo edward elena elisa elisabeth elizabeth ella ellen
    elsa emilia emily emma eric erica erik erika ernst esther ethan eugene eva evelyn fabian federico felicia
    felix fernando filip francesca francesco francis francisco franck frank franz fred frederic frederick frieda
    friedrich gabriel gabriela gabriele gary george gerald gerard gerda gerhard giovanni gisela gloria gordon
    greg gregory greta guillaume gunther günther gustav hanna hannah hans harald harold harry heike heinrich
    heinz helen helena helene helga helmut henri henry herbert hermann holger horst howard hugo ian ignacio ilse
    inge ingrid irene isabel isabella isabelle ivan jacob jacqueline jacques jakob james jan jane janet janine
    jason javier jean jeff jeffrey jennifer jens jeremy jerry jessica jill jim joachim joan joanna jochen joel
    johan johann johanna johannes john jonas jonathan jorge jörg joerg josé jose josef joseph josh joshua joyce
    juan judith julia julian juliane julie jürgen juergen justin jutta kai karen karin karl karla karsten
    katharina katherine kathleen kathrin kathryn katja keith kelly kenneth kerstin kevin kim kirsten klaus
    konrad kristen kristin kristina kurt kyle larry lars laura lauren laurent lea lena leo leon leonard leonie
    leslie liam lieselotte linda lisa logan lorenzo lothar louis louise luca lucas lucia lucy ludwig luis luisa
    lukas luke lydia magdalena manfred manuel manuela marc marcel marco marcos marcus margaret margarete maria
    maría marianne marie mario marion mark markus marlene marta martha martin martina mary mateo mathias
    mathilde matteo matthew matthias maurice max maximilian melanie melissa mia michael michaela michel michelle
    miguel mike miriam mohamed mohammad mohammed monica monika moritz muhammad nadine nancy natalia natalie
    natascha nathan nathalie nicholas nick nicola nicolas nicole niels nikolai nils nina noah nora norbert
    oliver olivia oscar oskar otto pablo pamela patricia patrick paul paula pauline pedro peter petra philip
    philipp philippe pierre pia rachel rafael rainer ralf ramona raul raúl rebecca regina reinhard renate
    ricardo richard rita robert roberto robin roger roland rolf roman ronald rosa roswitha roy rudolf russell
    ruth ryan sabine sabrina samantha samuel sandra sara sarah scott sean sebastian sergei sergio seth sharon
    shirley sigrid silke silvia simon simone sofia sonja sophia sophie stefan stefanie stefano stella stephan
    stephanie stephen steve steven stuart susan susanne sven svenja sylvia tanja tatjana teresa theodor theresa
    thomas tim timo tina tobias todd tom tony torsten tracy ulrich ulrike ursula ute uwe valentina valeria
    vanessa vera verena veronica veronika vicente victor vincent viktor volker walter waltraud wendy werner
    wilhelm william wolfgang yolanda yvonne zachary zoe

    agnieszka anastasia andrei andrzej aneta ania bartosz beata boris dariusz dorota elżbieta ewa galina
    grzegorz halina igor irina jakub janusz jerzy joanna katarzyna krystyna krzysztof ksenia ludmila łukasz
    lukasz maciej małgorzata marek mateusz mikhail michał natasha oksana oleg olga paweł piotr rafał stanisław
    svetlana sergey tadeusz tatiana tomasz vadim vladimir wojciech yuri zbigniew zofia

    annika arne axel bengt birgitte camilla eino emil erkki esa freja gunnar gudrun hanne harri henrik ida inger
    jari johanne jorma jukka jussi kari kirsi kjell knut lasse leif liisa linnea magnus maja mats mattias mette
    mikael mika mikko morten nanna olav olof pekka pirkko ragnar rasmus sanna signe sigurd solveig søren soren
    sven timo tore torbjörn trine tuomas ulla vesa viggo ville

    adriana alberto alessandra alessandro alfonso alonso álvaro alvaro andrés andres ángel angel antonella
    arturo beatrice caio camila catarina concepción cristiano diego dolores elisabetta emanuele emilio enrique
    esteban fabio fátima felipe francisca gabriella giacomo gianni giorgio giulia giuseppe gonçalo gonzalo
    gustavo inês jaime jesús joana joão joao joaquín joaquin josefa juana julio leonardo lourdes lucía luigi
    luiz manuela marcelo marisol martín massimo maurizio mauro mercedes mónica nicolás nuno óscar paolo paulo
    pilar rafaela raquel riccardo rocío rodrigo rosario rubén ruben salvatore santiago silvio simona susana
    thiago tiago tomás valentín ximena

    aditya ahmad ahmed aisha aki akira ali amir amit anil anita arjun aryan ayşe ayse deepak dilip emine fatima
    fatma farid farhad hamid haruto hasan hassan hiroshi hussein ibrahim imran jamal karim kavita kenji kenta
    khalid kiran krishna lakshmi layla leila mahmoud maryam mehmet mehdi mustafa naoko neha nikhil noor nour
    omar osman pooja prakash priya rahul raj rajesh rakesh ravi reza rohan rohit sakura salma sana sanjay
    sandeep satoshi shreya sita sunil sunita suresh takashi takeshi tariq usha vijay vikram vivek yamamoto
    yasmin youssef yousef yuki yuko yusuf zahra zainab

    александр алексей анастасия андрей анна антон владимир дарья дмитрий евгений екатерина елена иван игорь
    ирина ксения людмила максим мария михаил наталья николай оксана олег ольга павел светлана сергей татьяна
    юлия юрий γιώργος γιάννης δημήτρης ελένη κατερίνα κωνσταντίνος μαρία νίκος παναγιώτης
    """
)

_CHINESE_SURNAMES = (
    "王李张劉刘陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许"
    "許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎余潘杜戴夏钟鍾汪田任姜范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万萬段雷钱錢汤湯尹黎易常武乔喬贺賀赖賴龚龔文"
)
_JAPANESE_SURNAMES = (
    "佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上"
    "|木村|斎藤|清水|山崎|池田|橋本|阿部|石川|前田|藤田|小川|後藤|岡田|長谷川|村上|近藤|石井"
)
_KOREAN_SURNAMES = "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지"
_CHINESE = re.compile(f"[{_CHINESE_SURNAMES}][\u3400-\u9fff]{{1,2}}")
_JAPANESE = re.compile(f"({_JAPANESE_SURNAMES})[ \u3000]?[\u3040-\u30ff\u3400-\u9fff]{{1,4}}")
_KOREAN = re.compile(f"[{_KOREAN_SURNAMES}][\uac00-\ud7a3]{{2}}")

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*\.?")
_FULL_NAME = re.compile(r"[^\W\d_]+(?:[\s,.'’\-]+[^\W\d_]+\.?){1,5}")
_TITLES = vocabulary("mr mrs ms miss dr prof herr frau sr sra srta don doña mme mlle m sir madame monsieur dhr mevr")

_MOST_LETTERS = 60
_SINGLE_SHARE = 0.6
_SINGLE_VALUES = 5
_FULL_SHARE = 0.3
_FULL_SHAPE = 0.8
_FULL_VALUES = 8
_EAST_ASIAN_SHARE = 0.8


def kind_of_names(texts: Sequence[str]) -> Kind | None:
    """Return which part of a person's name distinct strings are; None when they are no names.

    Parameters
    ----------
    texts : sequence of str
        Distinct cells of a column, without blanks at the ends.

    Returns
    -------
    Kind | None
        Given names when most are single words of the list; full names when most are two to six words without a digit,
        a good part of which begin with such a name (or have it behind a comma), or when most are Chinese, Japanese or
        Korean names by their family names.
    """
    if len(texts) < _SINGLE_VALUES:
        return None
    short = [text for text in texts if len(text) <= _MOST_LETTERS]
    if len(texts) >= _FULL_VALUES:
        east_asian = sum(
            bool(_CHINESE.fullmatch(text) or _JAPANESE.fullmatch(text) or _KOREAN.fullmatch(text)) for text in short
        )
        if east_asian >= _EAST_ASIAN_SHARE * len(texts):
            return Kind.PERSON_NAME
    single = sum(bool(_WORD.fullmatch(text)) and _is_given(text) for text in short)
    if single >= _SINGLE_SHARE * len(texts):
        return Kind.GIVEN_NAME
    full = [text for text in short if _FULL_NAME.fullmatch(text)]
    known = sum(_begins_with_given(text) for text in full)
    mixed = single + known >= _SINGLE_SHARE * len(texts)
    named = mixed or (len(full) >= _FULL_SHAPE * len(texts) and known >= _FULL_SHARE * len(texts))
    return Kind.PERSON_NAME if len(texts) >= _FULL_VALUES and named else None


def _is_given(word: str) -> bool:
    return word.rstrip(".").split("-")[0].lower() in GIVEN_NAMES


def _begins_with_given(text: str) -> bool:
    family, comma, given = text.partition(",")
    words = _WORD.findall(given if comma else family)
    while words and words[0].rstrip(".").lower() in _TITLES:
        words.pop(0)
    return bool(words) and _is_given(words[0])
